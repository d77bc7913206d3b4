#!/usr/bin/env bash
# Generates a shop's events and applies them once: run.sh ONEFOLD FOLDER. What an earlier run left
# in the folder is removed first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
onefold=$(realpath "$1")
mkdir -p "$2"
cd "$2"
rm -f -- shop.db* outcomes.json
cp "$here/onefold.toml" .
python3 "$here/generate.py"
sqlite3 shop.db < "$here/schema.sql"

echo "== shop: $(wc -l < orders.jsonl) deliveries: a tenth redelivered, shuffled, some malformed"
"$onefold" run -c onefold.toml --migrate --until-idle -o json > outcomes.json
python3 "$here/check.py" . outcomes.json
echo
echo "-- set aside, with the reason (the first five)"
"$onefold" dead list -c onefold.toml --limit 5
echo
echo "-- the same run again: nothing new, nothing changes"
"$onefold" run -c onefold.toml --migrate --until-idle
python3 "$here/check.py" . | tail -n 1
