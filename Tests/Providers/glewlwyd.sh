#!/usr/bin/env bash
# A real OpenID provider for the tests: glewlwyd from Debian, on sqlite, on 127.0.0.1 only.
#
#   glewlwyd.sh [--keep] [--token-seconds N] [--wait N] [--parent PID] [--redirect-uri URI] [--logout-uri URI] DIR PORT
#
# Sets the provider up in DIR, waits until it answers, prints "PID PORT" and returns; the provider runs on. PORT 0 picks
# a free one. `kill PID` stops it and leaves the data; with --keep the same data come back on the same port. When the
# process that called this script ends in whatever way, the provider stops by itself, and DIR goes too if this script
# made it.
#
#   --keep             start again what an earlier call left in DIR; PORT must be its port, or 0
#   --token-seconds N  life of the access tokens (60)
#   --wait N           seconds until giving up on an answer (20)
#   --redirect-uri URI where else the client's users may come back to (beside http://127.0.0.1/cb)
#   --logout-uri URI   where the provider posts logout tokens to (back-channel logout)
#   --parent PID       the process whose end ends the provider (the caller); needed when a shell stands between
#
# Issuer http://127.0.0.1:PORT/api/oidc
# User   alice / alicepw
# Client svc / svcsecret: client_credentials, code with PKCE, refresh with rotation and reuse detection, password,
# device;
#        pushed requests, introspection, revocation, end of sessions
# Scopes openid, orders
# Ways of its own: a wrong secret is 403 with an empty body; a spent refresh token 400 with an empty body.
#
# Needs glewlwyd, curl, jq, openssl, sqlite3, util-linux. Exit 0: it answers; 1: it does not, with the reason on stderr.
set -euo pipefail
umask 077
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "glewlwyd.sh: $*" >&2
  for log in "${dir:-/nonexistent}"/glewlwyd.{err,log}; do
    if [[ -s $log ]]; then tail -n 5 "$log" >&2; fi
  done
  exit 1
}

whole_number() { [[ $2 =~ ^[0-9]{1,7}$ ]] || fail "$1: a whole number is needed, not '$2'"; }

# State and start time of a process: together they tell it from another one that got its number. Fails when it is gone.
birth_of() {
  local stat fields
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  read -ra fields <<<"${stat##*) }"
  [[ ${fields[0]} != [ZX] ]] && echo "${fields[19]}"
}

keep='' token_seconds=60 patience=20 parent=$PPID redirect_uri=http://127.0.0.1/cb logout_uri=''
while [[ ${1-} == --* ]]; do
  case $1 in
    --keep) keep=yes; shift; continue ;;
    --token-seconds | --wait | --parent) whole_number "$1" "${2-}" ;;&
    --token-seconds) token_seconds=$2 ;;
    --wait) patience=$2 ;;
    --parent) parent=$2 ;;
    --redirect-uri) redirect_uri=${2-} ;;
    --logout-uri) logout_uri=${2-} ;;
    *) fail "unknown option $1" ;;
  esac
  shift 2
done
[[ $# == 2 ]] || fail "usage: glewlwyd.sh [--keep] [--token-seconds N] [--wait N] [--parent PID] [--redirect-uri U] [--logout-uri U] DIR PORT"
whole_number PORT "$2"
dir=$1 wanted_port=$2
for program in curl glewlwyd jq openssl setpriv setsid sqlite3; do
  command -v "$program" >/dev/null || fail "$program is not installed (make deps)"
done
parent_birth=$(birth_of "$parent") || fail "the parent $parent does not run"

if [[ $keep ]]; then
  [[ -s $dir/port && -s $dir/glewlwyd.db ]] || fail "--keep: $dir holds no provider"
  port=$(<"$dir/port")
  [[ $wanted_port == 0 || $wanted_port == "$port" ]] ||
    fail "--keep: the provider in $dir has port $port, not $wanted_port"
else
  [[ -d $dir ]] || { mkdir -p "$dir" && touch "$dir/made-by-glewlwyd.sh"; }
  [[ ! -e $dir/glewlwyd.db ]] || fail "$dir holds a provider already; --keep starts it again"
fi
dir=$(cd "$dir" && pwd)
[[ $dir != *[\"\&\|\\]* ]] || fail "a path without \" & | \\ is needed: $dir" # it goes through sed into a quoted string
: >"$dir/glewlwyd.err"

# Runs the provider until it ends or the parent does. Nothing of the caller's stays open here: the reader of our output
# sees its end when this script returns.
supervise() {
  setpriv --pdeathsig TERM -- glewlwyd --config-file="$dir/glewlwyd.conf" </dev/null >/dev/null 2>"$dir/glewlwyd.err" &
  local provider=$! orphaned=''
  echo "$provider" >"$dir/pid.new"
  mv "$dir/pid.new" "$dir/pid"
  while kill -0 "$provider" 2>/dev/null; do
    if [[ $(birth_of "$parent") != "$parent_birth" ]]; then
      orphaned=yes
      break
    fi
    sleep 0.2
  done
  if [[ $orphaned ]]; then
    kill "$provider" 2>/dev/null
    for _ in {1..25}; do
      kill -0 "$provider" 2>/dev/null || break
      sleep 0.2
    done
    kill -KILL "$provider" 2>/dev/null
  fi
  wait "$provider" 2>/dev/null
  if [[ $orphaned && -e $dir/made-by-glewlwyd.sh ]]; then rm -rf "$dir"; fi
}

# Starts the provider on $port and waits for its first answer; fails when the provider ends or the patience does.
start() {
  rm -f "$dir/pid"
  started=yes
  export dir parent parent_birth
  export -f birth_of supervise
  setsid bash -c 'for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd > 2)) && eval "exec $fd>&-"; done; supervise' \
    </dev/null >/dev/null 2>&1 &
  disown
  local end=$((SECONDS + patience))
  until [[ -s $dir/pid ]]; do
    ((SECONDS <= end)) || return 1
    sleep 0.02
  done
  pid=$(<"$dir/pid")
  until curl -sf --max-time 2 -o /dev/null "http://127.0.0.1:$port/config"; do
    kill -0 "$pid" 2>/dev/null || return 1
    ((SECONDS <= end)) || { kill "$pid"; return 1; }
    sleep 0.05
  done
  owns_port || { kill "$pid" 2>/dev/null; return 1; } # what answered may be another program on the same port
}

# The inode of the socket that listens on 127.0.0.1:$port, if any.
listener() {
  awk -v address="0100007F:$(printf %04X "$port")" '$2 == address && $4 == "0A" { print $10 }' /proc/net/tcp
}

owns_port() {
  local inode
  inode=$(listener)
  [[ $inode ]] && readlink "/proc/$pid"/fd/* 2>/dev/null | grep -qF "socket:[$inode]"
}

write_configuration() {
  sed -e "s|^port=.*|port=$port|" \
    -e 's|^#bind_address=.*|bind_address="127.0.0.1"|' \
    -e "s|^external_url=.*|external_url=\"http://127.0.0.1:$port\"|" \
    -e "s|^log_file=.*|log_file=\"$dir/glewlwyd.log\"|" \
    -e "s|^@include .*|database = { type = \"sqlite3\"; path = \"$dir/glewlwyd.db\"; };|" \
    -e "s|^# *static_files_path=.*|static_files_path=\"$dir/webapp/\"|" \
    /etc/glewlwyd/glewlwyd.conf >"$dir/glewlwyd.conf"
  grep -q '^bind_address="127.0.0.1"' "$dir/glewlwyd.conf" || fail "cannot bind the provider to 127.0.0.1"
}

# The pages where users log in. They are copied because glewlwyd follows no links, and because Debian's leads to a
# directory in the place of the pages' configuration.
copy_pages() {
  mkdir "$dir/webapp"
  cp -rL /usr/share/glewlwyd/webapp/{login.html,login.js,favicon.ico,css,js,fonts,img,locales} "$dir/webapp/" 2>/dev/null || true
  cp /usr/share/glewlwyd/templates/config.json "$dir/webapp/config.json" || return 1
  [[ -s $dir/webapp/login.html && -s $dir/webapp/js/jquery.min.js ]] || fail "the pages of glewlwyd are not there"
}

# Whether a local socket of any kind, a connection included, has the port.
in_use() { grep -qi "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") " /proc/net/tcp /proc/net/tcp6 2>/dev/null; }

# One call of the administrator's API; the body is the second argument, or a file with @.
administrate() {
  curl -sS --fail --max-time 10 -o /dev/null -b "$dir/cookies" -H 'content-type: application/json' \
    --data-binary "$2" "http://127.0.0.1:$port/api/$1" 2>>"$dir/glewlwyd.err" || return 1
}

set_up() {
  local issuer=http://127.0.0.1:$port/api/oidc
  curl -sS --fail --max-time 10 -o /dev/null -c "$dir/cookies" -H 'content-type: application/json' \
    -d '{"username":"admin","password":"password"}' "http://127.0.0.1:$port/api/auth/" || return 1
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$dir/key.pem" 2>/dev/null || return 1
  openssl pkey -in "$dir/key.pem" -pubout -out "$dir/public.pem" || return 1
  administrate scope/ '{"name":"orders","display_name":"orders","password_required":false,"scheme":{}}' || return 1
  jq -n --rawfile key "$dir/key.pem" --rawfile cert "$dir/public.pem" --arg iss "$issuer" \
    --argjson life "$token_seconds" '{
    module: "oidc", name: "oidc", display_name: "oidc", parameters: {
      iss: $iss, "jwt-type": "rsa", "jwt-key-size": "256", key: $key, cert: $cert,
      "access-token-duration": $life, "refresh-token-duration": 1209600, "code-duration": 600,
      "refresh-token-rolling": true, "refresh-token-one-use": "always", "allow-non-oidc": true,
      "auth-type-code-enabled": true, "auth-type-token-enabled": false, "auth-type-none-enabled": false,
      "auth-type-id-token-enabled": false, "auth-type-password-enabled": true, "auth-type-client-enabled": true,
      "auth-type-device-enabled": true, "device-authorization-expiration": 600, "device-authorization-interval": 1,
      "auth-type-refresh-enabled": true, "request-parameter-allow": true, "request-parameter-allow-encrypted": false,
      "jwks-show": true, "session-management-allowed": true, "back-channel-logout-allowed": true, "session-cookie-name": "GLEWLWYD2_OIDC_SESSION",
      "session-cookie-expiration": 2419200, "oauth-par-allowed": true, "oauth-par-required": false,
      "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:", "oauth-par-duration": 90,
      "auth-type-code-revoke-replayed": true, "pkce-allowed": true, "pkce-method-plain-allowed": false,
      "introspection-revocation-allowed": true, "introspection-revocation-allow-target-client": true,
      "introspection-revocation-auth-scope": ["orders"], "subject-type": "public",
      "allowed-scope": ["openid", "orders"]}}' >"$dir/plugin.json" || return 1
  administrate mod/plugin/ "@$dir/plugin.json" || return 1
  administrate user/ '{"username":"alice","name":"Alice","password":"alicepw","email":"alice@example.test",
    "enabled":true,"scope":["openid","orders"]}' || return 1
  jq -n --arg redirect "$redirect_uri" --arg logout "$logout_uri" '{"client_id":"svc","name":"svc","password":"svcsecret",
    "client_secret":"svcsecret","confidential":true,"redirect_uri":(["http://127.0.0.1/cb",$redirect]|unique),
    "enabled":true,"scope":["openid","orders"],
    "token_endpoint_auth_method":["client_secret_basic","client_secret_post","client_secret_jwt"],
    "authorization_type":["code","client_credentials","password","device_authorization","refresh_token",
      "delete_token"]} + if $logout == "" then {} else {"backchannel_logout_uri":$logout,
      "backchannel_logout_session_required":"yes"} end' >"$dir/client.json" || return 1
  administrate client/ "@$dir/client.json" || return 1
  rm -f "$dir/cookies" "$dir/plugin.json" "$dir/client.json" "$dir/key.pem" # the provider has its key in the database
  curl -sS --fail --max-time 10 -o /dev/null "$issuer/.well-known/openid-configuration"
}

# Whatever ends this script early must not leave a half-made provider behind.
pid='' started='' half_made=''
give_up() {
  local status=$?
  ((status != 0)) || return 0
  if [[ $started && ! $pid ]]; then pid=$(cat "$dir/pid" 2>/dev/null); fi
  if [[ $pid ]]; then kill "$pid" 2>/dev/null; fi
  if [[ $half_made ]]; then rm -f "$dir/glewlwyd.db" "$dir/cookies" "$dir"/{plugin,client}.json "$dir/key.pem" && rm -rf "$dir/webapp"; fi
}
trap give_up EXIT
trap 'exit 143' TERM INT

if [[ $keep ]]; then
  [[ ! $(listener) ]] || fail "port $port is taken: is the provider in $dir still running?"
  start || fail "the provider in $dir does not come back on port $port"
else
  half_made=yes
  copy_pages
  zcat /usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz | sqlite3 "$dir/glewlwyd.db"
  for attempt in {1..10}; do
    # Below the range that the kernel gives to outgoing connections, which could sit on the port at any time.
    port=$((wanted_port == 0 ? 20000 + (RANDOM + attempt) % 12000 : wanted_port))
    if in_use "$port" && [[ $wanted_port == 0 ]]; then continue; fi
    if [[ $(listener) ]]; then fail "port $port is taken"; fi
    write_configuration
    if start; then break; fi
    pid=''
    [[ $wanted_port == 0 && $attempt != 10 ]] || fail "the provider does not start on port $port"
  done
  [[ $pid ]] || fail "no free port"
  echo "$port" >"$dir/port"
  set_up || fail "the provider on port $port cannot be set up"
fi
echo "$pid $port"
