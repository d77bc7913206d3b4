#!/usr/bin/env bash
# Database servers for the tests: each in a data folder of its own, on a free port of 127.0.0.1,
# without a service manager, as root or as a normal user.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.."

folder=$(realpath -m "${ONEFOLD_SERVERS:-build/servers}")
all_servers="postgres mariadb pgbouncer"
start_seconds_max=60

usage() {
  cat <<'END'
usage: tools/servers.sh COMMAND [SERVER...]

  start     start them, beside each other; what runs already stays
  stop      stop them and keep their data
  kill      end them as a power cut would
  running   exit code 0 if all of them run
  env       print the variables by which the tests find those that run, for `eval`

SERVER is postgres, mariadb or pgbouncer (which needs postgres); none: all of them. Data and logs
are in build/servers, or where ONEFOLD_SERVERS points.
END
}

say() { printf 'servers: %s\n' "$*" >&2; }

# --- processes -----------------------------------------------------------------------------------

# PostgreSQL and PgBouncer refuse to run as root, so root starts them as the packages' own users.
run_as() {
  local user=$1
  shift
  if ((EUID == 0)); then runuser -u "$user" -- "$@"; else "$@"; fi
}

user_of() { if [[ $1 == mariadb ]]; then echo mysql; else echo postgres; fi; }

process_of() {
  case $1 in
    postgres) head -n 1 "$folder/postgres/data/postmaster.pid" 2> /dev/null || true ;;
    *) head -n 1 "$folder/$1/process" 2> /dev/null || true ;;
  esac
}

# A zombie answers signals too: only its state tells that it has ended.
alive() {
  local state
  [[ -n $1 && -r /proc/$1/stat ]] || return 1
  state=$(sed 's/^.*) //' "/proc/$1/stat" 2> /dev/null) || return 1
  [[ -n $state && $state != [ZX]* ]]
}

# wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" > /dev/null 2>&1; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

ended() { ! alive "$1"; }

# The folders of a server belong to the user that runs it.
make_folder() {
  mkdir -p "$folder"
  if ((EUID == 0)); then
    install -d -o "$(user_of "$1")" -m 700 "$folder/$1"
    run_as "$(user_of "$1")" test -x "$folder" || {
      say "user $(user_of "$1") cannot enter $folder; set ONEFOLD_SERVERS to a folder where it can"
      return 1
    }
  else
    install -d -m 700 "$folder/$1"
  fi
}

# A port stays with its server, unless somebody else has taken it meanwhile.
choose_port() {
  python3 - "$folder/$1.port" <<'END'
import pathlib, socket, sys

def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
        return probe.getsockname()[1]

file = pathlib.Path(sys.argv[1])
known = int(file.read_text()) if file.exists() else 0
file.write_text(str(free(known) or free(0)))
END
}

port_of() { cat "$folder/$1.port"; }

# --- PostgreSQL ----------------------------------------------------------------------------------

postgres_program() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)
  if [[ -n $found ]]; then echo "$found/$1"; else command -v "$1"; fi
}

# Servers whose messages are German and Russian: what reads the text of errors fails there.
make_locales() {
  local name
  mkdir -p "$folder/locales"
  for name in de_DE ru_RU; do
    [[ ! -d $folder/locales/$name.UTF-8 ]] || continue
    localedef -i "$name" -f UTF-8 "$folder/locales/$name.UTF-8"
  done
}

start_postgres() {
  local data=$folder/postgres/data try
  make_locales
  if [[ ! -s $data/PG_VERSION ]]; then
    run_as postgres "$(postgres_program initdb)" -D "$data" -U postgres -A trust -E UTF8 \
      --locale=C.UTF-8 --no-instructions > "$folder/postgres.init.log" 2>&1
    run_as postgres tee -a "$data/postgresql.conf" > /dev/null <<'END'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
max_prepared_transactions = 20
END
  fi
  # The process of a server that was killed can stay a zombie for seconds, and its file with it.
  for try in 1 2 3 4 5 6; do
    run_as postgres env LOCPATH="$folder/locales" "$(postgres_program pg_ctl)" -D "$data" \
      -l "$folder/postgres/log" -o "-p $(port_of postgres)" -w -t "$start_seconds_max" start \
      > "$folder/postgres.start.log" 2>&1 < /dev/null && return
    sleep "0.$try"
  done
  return 1
}

stop_postgres() {
  run_as postgres "$(postgres_program pg_ctl)" -D "$folder/postgres/data" -m fast -w -t 30 stop \
    > "$folder/postgres.stop.log" 2>&1
}

# --- MariaDB -------------------------------------------------------------------------------------

mariadb_answers() {
  mariadb-admin --no-defaults -h 127.0.0.1 -P "$(port_of mariadb)" -u root ping | grep -q alive
}

start_mariadb() {
  local home=$folder/mariadb
  local -a identity=()
  ((EUID != 0)) || identity=(--user=mysql)
  if [[ ! -d $home/data/mysql ]]; then
    rm -rf "$home/data"
    run_as mysql mkdir -p "$home/data" "$home/tmp"
    mariadb-install-db --no-defaults "${identity[@]}" --datadir="$home/data" \
      --auth-root-authentication-method=normal --skip-test-db > "$folder/mariadb.init.log" 2>&1
  fi
  # The socket's path is relative to the data folder: a whole one can be too long for a socket.
  # --no-defaults keeps the machine's configuration out.
  setsid mariadbd --no-defaults "${identity[@]}" --datadir="$home/data" --tmpdir="$home/tmp" \
    --socket=socket --pid-file="$home/process" --port="$(port_of mariadb)" \
    --bind-address=127.0.0.1 --skip-name-resolve --max-connections=200 \
    --innodb-flush-log-at-trx-commit=1 --log-bin=binlog --sync-binlog=1 --server-id=1 \
    --binlog-format=ROW --innodb-buffer-pool-size=128M --character-set-server=utf8mb4 \
    > "$folder/mariadb.log" 2>&1 < /dev/null &
  wait_until "$start_seconds_max" mariadb_answers
}

stop_mariadb() { stop_process mariadb TERM; }

# --- PgBouncer -----------------------------------------------------------------------------------

start_pgbouncer() {
  local home=$folder/pgbouncer
  rm -f "$home/process"  # Of one that was killed: it refuses to start beside that.
  run_as postgres tee "$home/pgbouncer.ini" > /dev/null <<END
[databases]
* = host=127.0.0.1 port=$(port_of postgres) user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $(port_of pgbouncer)
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_lifetime = 5
max_client_conn = 200
logfile = $home/log
pidfile = $home/process
ignore_startup_parameters = extra_float_digits
END
  run_as postgres pgbouncer -d "$home/pgbouncer.ini" \
    > "$folder/pgbouncer.start.log" 2>&1 < /dev/null
  wait_until 10 bash -c "exec 3<> /dev/tcp/127.0.0.1/$(port_of pgbouncer)"
}

stop_pgbouncer() { stop_process pgbouncer TERM; }

# --- commands ------------------------------------------------------------------------------------

# stop_process SERVER SIGNAL
stop_process() {
  local process
  process=$(process_of "$1")
  alive "$process" || return 0
  kill "-$2" "$process"
  wait_until 30 ended "$process"
}

start() {
  ! alive "$(process_of "$1")" || return 0
  make_folder "$1"
  # Inside an `if`, bash would not stop at the function's first failure.
  local status
  set +e
  (set -e; "start_$1")
  status=$?
  set -e
  if ((status != 0)); then
    say "$1 did not start. The ends of its logs:"
    find "$folder" -maxdepth 1 -name "$1.*log" -exec tail -v -n 20 {} + >&2
    [[ ! -r $folder/$1/log ]] || tail -v -n 20 "$folder/$1/log" >&2
    return 1
  fi
}

stop() {
  alive "$(process_of "$1")" || return 0
  "stop_$1" || { say "$1 did not stop"; return 1; }
}

# Children of a killed PostgreSQL notice it and end by themselves, after their current statement.
end_at_once() { stop_process "$1" KILL; }

command_start() {
  local server failed=0
  local -a processes=()
  for server in $*; do
    alive "$(process_of "$server")" || { mkdir -p "$folder"; choose_port "$server"; }
  done
  for server in $*; do
    (start "$server") &
    processes+=($!)
  done
  for server in "${processes[@]}"; do wait "$server" || failed=1; done
  return "$failed"
}

each() {
  local action=$1 server failed=0
  shift
  for server in $*; do "$action" "$server" || failed=1; done
  return "$failed"
}

is_running() { alive "$(process_of "$1")"; }

print_variable() {
  is_running "$1" || return 0
  local user=postgres database=postgres scheme=postgres
  [[ $1 != mariadb ]] || { user=root; database=; scheme=mariadb; }
  printf "export ONEFOLD_TEST_%s='%s://%s@127.0.0.1:%s/%s'\n" "${1^^}" "$scheme" "$user" \
    "$(port_of "$1")" "$database"
}

command=${1:-help}
servers=${*:2}
for server in $servers; do
  [[ " $all_servers " == *" $server "* ]] || { usage >&2; exit 64; }
done
: "${servers:=$all_servers}"
case $command in
  start) command_start $servers ;;
  # In the other order: what needs another one ends first.
  stop) each stop $(printf '%s\n' $servers | tac) ;;
  kill) each end_at_once $servers ;;
  running) each is_running $servers ;;
  env) each print_variable $servers ;;
  help | -h | --help) usage ;;
  *) usage >&2; exit 64 ;;
esac
