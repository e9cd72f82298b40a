"""Kinds: what each kind of resource asks of the account. The modules beside this one fill the table."""

from aws import Aws

KINDS = {}


class Kind:
    """One kind. What it answers are attributes that only AWS knows, or that somebody may have changed."""

    # What has another value after each change, and what no change can keep.
    anew = ()
    replaced = ()
    # What its id is.
    named = "name"

    def aws(self, provider, region):
        return Aws(region or provider.region)

    def id(self, state):
        return str(state[self.named])

    def create(self, aws, want):
        raise NotImplementedError

    def update(self, aws, want):
        """Most calls of AWS that create also replace."""
        return self.create(aws, want)

    def read(self, aws, state):
        """What is there now; None if it is gone."""
        raise NotImplementedError

    def delete(self, aws, state):
        raise NotImplementedError


def kind(name):
    """Says of a class which kind it is."""

    def note(made):
        KINDS[name] = made()
        return made

    return note


def pascal(name):
    """A name as AWS writes it."""
    return "".join(part.capitalize() for part in name.split("_"))


def given(want, *names):
    """Attributes that are set, under AWS's names."""
    return {pascal(name): want[name] for name in names if want.get(name) not in (None, "", [], {})}


def one(blocks):
    """The block of which there is at most one."""
    return blocks[0] if blocks else None


def gone(call, *codes):
    """What a call answers; None if what it asks about is not there."""
    try:
        return call()
    except Exception as error:
        code = getattr(error, "response", {}).get("Error", {}).get("Code", "")
        if code in codes or any(word in code for word in ("NotFound", "NoSuch", "NonExistent")):
            return None
        raise
