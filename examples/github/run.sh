#!/usr/bin/env bash
# Applies the real webhook payloads once: run.sh ONEFOLD FOLDER. The folder is emptied first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
onefold=$(realpath "$1")
mkdir -p "$2"
cd "$2"
rm -f -- github.db* outcomes.json
cp "$here/onefold.toml" "$here/deliveries.jsonl" .
sqlite3 github.db < "$here/schema.sql"

echo "== github: $(wc -l < deliveries.jsonl) deliveries, real payloads, reordered and redelivered"
"$onefold" run -c onefold.toml --migrate --until-idle -o json > outcomes.json
python3 "$here/check.py" .
echo
sqlite3 -readonly -column -header github.db \
  "SELECT full_name, stars, open_issues, updated_at FROM repository ORDER BY id"
echo
sqlite3 -readonly -column -header github.db \
  "SELECT 'issue' AS kind, number, title, state, updated_at FROM issue UNION ALL
   SELECT 'pull request', number, title, state, updated_at FROM pull_request ORDER BY 1, 2"
echo
echo "-- the same run again: nothing new, nothing changes"
tables=".dump repository issue pull_request activity"
sqlite3 -readonly github.db "$tables" > before.sql
"$onefold" run -c onefold.toml --migrate --until-idle
sqlite3 -readonly github.db "$tables" > after.sql
cmp before.sql after.sql
python3 "$here/check.py" . > /dev/null
rm -f before.sql after.sql
