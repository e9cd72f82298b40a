mod kit;
mod refusals;
mod routes;
mod unmade;
