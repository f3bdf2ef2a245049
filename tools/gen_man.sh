#!/bin/bash
# docs/man/waybill.1 from what the binary says of itself: tools/gen_man.sh WAYBILL
# Writes to standard output; `tests/docs_test.sh` keeps the page current.
set -eu
waybill=$1
roff() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e 's/…/\\[u2026]/g' -e "s/^\\([.']\\)/\\\\\&\\1/"; }

cat <<'X'
.\" SPDX-License-Identifier: Apache-2.0
.\" Made by tools/gen_man.sh from `waybill COMMAND --help`.
.TH WAYBILL 1 "" "Waybill" "User commands"
.SH NAME
waybill \- the tool layer of an AI agent: one call in, exactly one outcome out
.SH SYNOPSIS
.B waybill
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
Waybill takes a tool call, from the command line or in the form a model provider sends it, checks and
runs it, and gives back one outcome on several surfaces: a short receipt for the model, a canonical
result for programs, a record for the books. Tools are declared in
.IR waybill.json " and " tools.d/*.json ;
see
.BR waybill\-config (5).
.SH OPTIONS OF EVERY COMMAND
.TP
.BI \-\-root " DIR"
The workspace; else WAYBILL_ROOT, else the nearest ancestor with waybill.json, .waybill or .git.
.TP
.BI \-\-config " FILE"
The user's settings, instead of the file in the user's configuration folder.
.TP
.BI \-\-state " DIR"
The state directory; else WAYBILL_STATE, else .waybill in the workspace.
.TP
.BI \-\-as " PRINCIPAL"
Who calls.
.TP
.BI \-\-events " FILE"
Write events as JSON Lines to a file or an open descriptor.
.TP
.B \-\-json
One JSON document where a table would be printed; the canonical result for a receipt.
.TP
.BR \-q ", " \-\-quiet
No remarks on standard error.
.TP
.BR \-v ", " \-\-verbose
More remarks.
.TP
.BR \-h ", " \-\-help
What a command takes, with examples.
.TP
.B \-\-version
The version.
.SH COMMANDS
X
"$waybill" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -v '^waybill$' | while read -r command; do
    printf '.SS waybill %s\n' "$(echo "$command" | roff)"
    printf '.nf\n'
    "$waybill" "$command" --help | sed '/^every command:/,/--help$/d' | cat -s | roff
    printf '.fi\n'
done
cat <<'X'
.SH EXIT STATUS
.TP
.B 0
Success; also a command that was run and exited non\-zero.
.TP
.B 1
An error outcome, or a negative verdict.
.TP
.B 2
Usage, bad input or a bad schema.
.TP
.B 3
Configuration or state is unusable.
.TP
.B 70
An internal error.
.PP
Who reads no more of the output
.RB ( "waybill artifact read" " \&... | " head )
ends Waybill by SIGPIPE, as it does git.
.SH ENVIRONMENT
.TP
.BR WAYBILL_ROOT ", " WAYBILL_STATE
As
.BR \-\-root " and " \-\-state .
.TP
.B NO_COLOR
No colours, also on a terminal. Nor are there any where
.B TERM
is dumb or not set.
.SH SEE ALSO
.BR waybill\-config (5),
.BR waybill (3)
X
