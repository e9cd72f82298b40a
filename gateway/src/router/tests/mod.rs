mod kit;
mod orders;
mod newest;
mod refusals;
mod routes;
mod shares;
mod unmade;
