-- SPDX-License-Identifier: Apache-2.0
-- store/schema.sql: version 1 of ledger.db (PRAGMA user_version, application_id 0x5742494c).
-- Applied in one transaction; later versions are steps in store/migrate.c.
--
-- meta     facts about the file: state_id (must equal the file `instance`), the anchor
--          (sequence and hash in front of the first kept row) and the last generation.
-- ledger   one row per event in the life of a call; never updated. Columns:
--   seq              1, 2, 3 … without gaps; the order of everything
--   call_id          the runtime's own id, call_…
--   kind             intent | outcome | checkpoint | note; one row per (call_id, kind)
--   time_ms          wall clock, milliseconds since 1970, UTC; dates only, never orders
--   tool             canonical tool name
--   status           success | error, NULL on an intent
--   error_kind       kind of the error table, NULL unless status is error
--   duration_us      end to end on the monotonic clock, -1 where there is none
--   conversation     conversation id
--   provider_call_id the caller's id of the call
--   principal        who called
--   effect           Pure | IdempotentWrite | NonIdempotentWrite | ExternalSideEffects
--   owner            the process: own_<id>:<boot>:<pid>:<start time>
--   hash             SHA-256 of the chain (docs/ledger.md)
--   invocation … events   JSON as given (receipt: text), redacted before it came here; those
--                    of an outcome lack what other columns say (ledger/lean.h)
-- open_calls  calls without an outcome yet, by the newest row (intent, asked): what a start after a crash looks at.
-- kv       small durable tables of the other rooms; generation grows over the whole file.
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY,
    call_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    tool TEXT,
    status TEXT,
    error_kind TEXT,
    duration_us INTEGER NOT NULL,
    conversation TEXT,
    provider_call_id TEXT,
    principal TEXT,
    effect TEXT,
    owner TEXT,
    hash BLOB NOT NULL,
    invocation TEXT,
    canonical TEXT,
    result TEXT,
    receipt TEXT,
    artifacts TEXT,
    timings TEXT,
    policy TEXT,
    trust TEXT,
    events TEXT
);
CREATE UNIQUE INDEX ledger_call ON ledger (call_id, kind);
-- version 2 makes it anew, without ids that only count (migrate.c)
CREATE INDEX ledger_provider ON ledger (provider_call_id) WHERE provider_call_id IS NOT NULL;
CREATE TABLE open_calls (call_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE kv (
    tab TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (tab, key)
) WITHOUT ROWID;
