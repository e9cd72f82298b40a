mod kit;
mod refusals;
mod routes;
