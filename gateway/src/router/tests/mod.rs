mod kit;
mod orders;
mod newest;
mod quotas;
mod refusals;
mod routes;
mod shares;
mod unmade;
