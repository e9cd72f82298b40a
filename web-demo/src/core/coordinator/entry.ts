//! Entry: what the worker is started with, and nothing else. WebKit would run a worker's first script once more for parts that
//! import from it, with a session of their own.

import "./coordinator";
