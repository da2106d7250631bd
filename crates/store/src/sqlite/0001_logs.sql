-- Format 1. Logs, and the head of each, which is kept so that no commit counts records.
CREATE TABLE sessions (
    number     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    head       INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE records (
    session  INTEGER NOT NULL REFERENCES sessions (number),
    seq      INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    key      TEXT,
    data     TEXT    NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX records_by_place ON records (session, seq);
CREATE UNIQUE INDEX records_by_key ON records (session, key) WHERE key IS NOT NULL;
