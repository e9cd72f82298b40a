//! The page: its core, and its display on top.

import { mount } from "./app/mount";
import { connect } from "./core";

mount(document.getElementById("app")!, connect());
