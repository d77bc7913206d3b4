#!/usr/bin/env bash
# Generates a shop's events and applies them once: run.sh ONEFOLD FOLDER. What an earlier run left
# in the folder is removed first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
onefold=$(realpath "$1")
mkdir -p "$2"
cd "$2"
rm -f -- shop.db* outcomes*.json
cp "$here/onefold.toml" "$here/onefold_again.toml" .
python3 "$here/generate.py"
sqlite3 shop.db < "$here/schema.sql"

echo "== shop: $(wc -l < orders.jsonl) deliveries: a tenth redelivered, shuffled, some malformed"
"$onefold" run -c onefold.toml --migrate --until-idle -o json > outcomes.json
python3 "$here/check.py" . outcomes.json
echo
echo "-- set aside, with the reason (the first five)"
"$onefold" dead list -c onefold.toml --limit 5
echo
echo "-- the same run again: the file has been read, there is nothing new"
"$onefold" run -c onefold.toml --migrate --until-idle
echo
echo "-- the same events again, through standard input: the claims know them, nothing changes"
echo "   (a line without an identity is known by its bytes here: it is set aside a second time)"
"$onefold" run -c onefold_again.toml --until-idle -o json < orders.jsonl > outcomes_again.json
python3 "$here/check.py" . outcomes_again.json --again
