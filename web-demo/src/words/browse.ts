/** Browse: the folders of a snapshot, what is taken and where it goes. */

import { words } from "./language";

export const browse = words("browse", {
});
