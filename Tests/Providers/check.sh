#!/usr/bin/env bash
# Tries glewlwyd.sh for real: tokens, introspection, expiry, refusals, down and back, the end of its parent. About 10 s.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d)
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$directory"
}
trap clean_up EXIT

expect() { # WHAT EXPECTED ACTUAL
  [[ $2 == "$3" ]] || { echo "not ok: $1: expected '$2', got '$3'" >&2; exit 1; }
  echo "ok: $1"
}
gone() { # within 10 s
  for _ in {1..100}; do
    kill -0 "$1" 2>/dev/null || { echo gone; return; }
    sleep 0.1
  done
  echo alive
}
post() { # PATH USER BODY: the body, then the status on a line of its own
  curl -sS --max-time 10 -w '\n%{http_code}' -u "$2" -d "$3" "http://127.0.0.1:$port/api/oidc/$1"
}
active() { post introspect svc:svcsecret "token=$1" | head -n 1 | jq -r .active; }

read -r pid port < <("$here/glewlwyd.sh" --parent $$ "$directory/provider" 0)
pids+=("$pid")
issuer=http://127.0.0.1:$port/api/oidc
expect "discovery names the issuer" "$issuer" "$(curl -sS "$issuer/.well-known/openid-configuration" | jq -r .issuer)"
expect "the key set holds a key" 1 "$(curl -sS "$issuer/jwks" | jq '.keys | length')"
grant='grant_type=client_credentials&scope=orders'
answer=$(post token svc:svcsecret "$grant" | head -n 1)
expect "client credentials give a bearer token" "bearer orders 60" \
  "$(jq -r '"\(.token_type) \(.scope) \(.expires_in)"' <<<"$answer")"
expect "the client may send its secret in the body" 200 \
  "$(curl -sS -o /dev/null -w '%{http_code}' -d "$grant&client_id=svc&client_secret=svcsecret" "$issuer/token")"
token=$(jq -r .access_token <<<"$answer")
expect "introspection says active, client and scope" "true svc orders 60" \
  "$(post introspect svc:svcsecret "token=$token" | head -n 1 |
    jq -r '"\(.active) \(.client_id) \(.scope) \(.exp - .iat)"')"
expect "introspection of a token of nobody" false "$(active nonsense)"
expect "a wrong secret is 403 with an empty body" $'\n403' "$(post token svc:wrong "$grant")"
expect "a second provider on the same port is refused" 1 \
  "$("$here/glewlwyd.sh" "$directory/other" "$port" 2>/dev/null >&2; echo $?)"
expect "data are not overwritten" 1 "$("$here/glewlwyd.sh" "$directory/provider" 0 2>/dev/null >&2; echo $?)"

kill "$pid"
expect "a killed provider is down" gone "$(gone "$pid")"
expect "nothing listens" 7 "$(curl -s --max-time 2 "$issuer/jwks" >/dev/null; echo $?)"
read -r pid again < <("$here/glewlwyd.sh" --keep --parent $$ "$directory/provider" "$port")
pids+=("$pid")
expect "it is back on its port" "$port" "$again"
expect "a token from before is still active" true "$(active "$token")"

# A parent that ends, by SIGKILL: the provider goes, and the directory that the script made.
{
  bash -c "'$here/glewlwyd.sh' --token-seconds 2 '$directory/orphan' 0 >'$directory/line'; kill -KILL \$\$"
} 2>/dev/null || true
read -r orphan port <"$directory/line"
pids+=("$orphan")
expect "the provider ends with its parent" gone "$(gone "$orphan")"
for _ in {1..30}; do [[ -e $directory/orphan ]] && sleep 0.1; done
expect "and its directory with it" no "$([[ -e $directory/orphan ]] && echo yes || echo no)"

read -r pid port < <("$here/glewlwyd.sh" --token-seconds 2 --parent $$ "$directory/short" 0)
pids+=("$pid")
issuer=http://127.0.0.1:$port/api/oidc
token=$(post token svc:svcsecret "$grant" | head -n 1 | jq -r .access_token)
expect "a short-lived token is active" true "$(active "$token")"
sleep 3
expect "and not after its life" false "$(active "$token")"
