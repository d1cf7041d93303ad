"""What PostgreSQL itself says of its advisory locks, by psql, and what baton says, in one shape to compare."""

import re

QUERY = """
with x as {once} (
  select x.virtualtransaction, p.gid, p.prepared from pg_locks x join pg_prepared_xacts p on p.transaction = x.transactionid
   where x.locktype = 'transactionid' and x.granted and x.pid is null)
select d.datname, l.classid, l.objid, l.objsubid, l.mode, l.granted, l.pid, x.gid, a.application_name, a.usename,
       coalesce(host(a.client_addr), 'local'),
       (extract(epoch from a.backend_start) * 1000000)::bigint, (extract(epoch from x.prepared) * 1000000)::bigint
  from pg_locks l join pg_database d on d.oid = l.database
       left join pg_stat_activity a on a.pid = l.pid
       left join x on l.pid is null and x.virtualtransaction = l.virtualtransaction
 where l.locktype = 'advisory'
 order by l.granted desc, {since}l.mode, l.pid
"""


def query(pg):
    """What is read once, and since when one waits, as that version has it."""
    return QUERY.format(once="materialized" if pg.version >= 12 else "", since="l.waitstart, " if pg.version >= 14 else "")


def signed(value, bits):
    value = int(value)
    return value - (1 << bits) if value >= 1 << (bits - 1) else value


def path_of(database, classid, objid, objsubid):
    if objsubid == "1":
        return f"{database}:{signed(int(classid) << 32 | int(objid), 64)}"
    return f"{database}:({signed(classid, 32)},{signed(objid, 32)})"


def truth(pg):
    """path -> {"holders": set of (identity, key, mode), "waiters": [(identity, key, mode), ...] in their order}."""
    found = {}
    for (database, classid, objid, objsubid, mode, granted, pid, gid, application, user, client, start,
         prepared) in pg.psql(query(pg)):
        row = found.setdefault(path_of(database, classid, objid, objsubid), {"holders": set(), "waiters": []})
        if gid is not None:
            claim = (f"prepared:{gid}", f"prepared:{gid}@{prepared}")
        else:
            claim = (application or f"{user}@{client}", f"{pid}@{start}")
        mode = {"ExclusiveLock": "exclusive", "ShareLock": "share"}[mode]
        if granted == "t":
            row["holders"].add((*claim, mode))
        else:
            row["waiters"].append((*claim, mode))
    return found


def seen(answer, source="postgres"):
    """The same of baton's answer to `list --json`. Rows that nobody holds are left out."""
    found = {}
    for one in answer["singletons"]:
        if one["source"] != source or not (one["holders"] or one["waiters"]):
            continue
        claims = {}
        for kind in ("holders", "waiters"):
            claims[kind] = [(c["identity"], c["key"], c["detail"]["mode"]) for c in one[kind]]
        claims["holders"] = set(claims["holders"])
        found[one["id"].split("/", 1)[1]] = claims
    return found


def row(answer, path, source="postgres"):
    for one in answer["singletons"]:
        if one["id"] == f"{source}/{path}":
            return one
    raise AssertionError(f"no {path} in {[one['id'] for one in answer['singletons']]}")


def source(answer, name="postgres"):
    return next(one for one in answer["sources"] if one["name"] == name)


def codes(singleton):
    return {finding["code"] for finding in singleton["findings"]}


def one_line(text):
    return re.sub(r"\s+", " ", text)
