mod kit;
mod orders;
mod refusals;
mod routes;
mod unmade;
