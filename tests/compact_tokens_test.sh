#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recorded sessions brought to several budgets never cost more, counted exactly
# (o200k, npm gpt-tokenizer), down to the printed minimum (C11). Skips by name.
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$PWD/waybill" ] || { echo "skipped: exact tokens of compaction (no waybill in $PWD)"; exit 77; }
bash "$source/bench/compact.sh" "$PWD/waybill"
