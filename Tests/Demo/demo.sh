#!/usr/bin/env bash
# Shows the sidecar at work: a playground upstream, the sidecar, and one call after the other, each as a person would type it.
#
#   make demo                builds both binaries first
#   Tests/Demo/demo.sh       uses .build/release, or $POSTERN_BIN and $PLAYGROUND_BIN
#
# Every answer is checked, so this is a test as well: exit 0 when all were as expected. Everything runs in a temporary
# directory and is stopped again, whatever happens. Needs curl, jq, node, python3, socat (make deps) and util-linux.
set -uo pipefail
umask 077

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
postern=$(realpath "${POSTERN_BIN:-$root/.build/release/postern}" 2>/dev/null)
playground=$(realpath "${PLAYGROUND_BIN:-$root/.build/release/playground}" 2>/dev/null)

if [[ -t 1 && -z ${NO_COLOR-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' cyan=$'\e[36m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m' jq_colour=-C
else
  bold='' dim='' cyan='' green='' red='' plain='' jq_colour=-M
fi

dir='' playground_pid='' decider_pid='' postern_pid='' stdin_holder='' decider_holder='' expected=0

# Ends the process $1: asks, waits up to three seconds, insists.
end() {
  [[ $1 ]] || return 0
  kill -TERM "$1" 2>/dev/null
  for _ in {1..60}; do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP
  [[ $stdin_holder ]] && exec {stdin_holder}>&- {decider_holder}>&- # both upstreams stop by themselves now
  end "$postern_pid"
  end "$playground_pid"
  end "$decider_pid"
  [[ $dir ]] && rm -rf "$dir"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() {
  printf '%s\n' "${red}demo: $*${plain}" >&2
  if [[ -s $dir/postern.log ]]; then
    echo "The end of the sidecar's log:" >&2
    tail -n 15 "$dir/postern.log" >&2
  fi
  exit 1
}

# Waits up to five seconds until the given command succeeds.
await() {
  for _ in {1..100}; do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  return 1
}

step() { printf '\n%s\n' "${bold}$*${plain}"; }

# Prints $1 as a command line and keeps what it prints in $answer and its exit code in $status. Further lines are not
# indented: what is shown can be pasted.
run() {
  printf '%s\n' "$cyan\$ $1$plain"
  answer=$(eval "$1" 2>&1)
  status=$?
}

# Prints the answer: as it is, or indented as `postern call` prints it on a terminal.
show() { printf '%s\n' "$answer"; }
show_indented() { jq $jq_colour . <<<"$answer" 2>/dev/null || show; }

# The answer (a stream of JSON texts, read as the array $all) must be what the jq filter $1 says.
expect() {
  jq -se ". as \$all | .[0] as \$answer | ($1)" <<<"$answer" >/dev/null 2>&1 || fail "not what was expected: $1"
  expected=$((expected + 1))
}

for program in curl jq node python3 setpriv socat; do
  command -v "$program" >/dev/null || fail "$program is not installed (make deps)"
done
[[ -x $postern && -x $playground ]] || fail "there are no binaries in .build/release (make release)"

# MARK: start

dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-demo.XXXXXX") || fail "no temporary directory"
mkfifo "$dir/stdin"
# Its standard input is open as long as this script runs: in whatever way that ends, the playground ends too.
"$playground" --port 0 --exit-with-stdin <"$dir/stdin" >"$dir/playground.json" 2>"$dir/playground.log" &
playground_pid=$!
mkfifo "$dir/decider-stdin"
python3 "$root/Tests/Demo/decision_point.py" <"$dir/decider-stdin" >"$dir/decider.url" 2>"$dir/decider.log" &
decider_pid=$!
exec {stdin_holder}>"$dir/stdin" {decider_holder}>"$dir/decider-stdin"
await test -s "$dir/decider.url" || fail "the decision point does not start: $(cat "$dir/decider.log")"
decider=$(cat "$dir/decider.url")
await test -s "$dir/playground.json" || fail "the playground does not start: $(cat "$dir/playground.log")"
issuer=$(jq -r .issuer "$dir/playground.json") && resource=$(jq -r .resource "$dir/playground.json") &&
  open=$(jq -r .open "$dir/playground.json") && control=$(jq -r .control "$dir/playground.json") &&
  base=${control%/playground} ||
  fail "the playground's announcement cannot be read"

printf 'svcsecret\n' >"$dir/client.secret"
printf 'shopsecret\n' >"$dir/shop.secret"
cat >"$dir/postern.yaml" <<END
issuers:
  playground:
    issuer: $issuer
    clientId: svc
    clientSecretFile: client.secret
  shop:
    issuer: $issuer
    clientId: shop
    clientSecretFile: shop.secret
    scope: openid profile offline_access orders
  am:
    issuer: $issuer
    clientId: shop
    clientSecretFile: shop.secret
    scope: openid profile orders
    redirectUri: http://127.0.0.1:8765/callback
    accessManager: { baseUrl: $base/am, realm: alpha }
resources:
  open:
    baseUrl: $open/
    auth: none
  orders:
    baseUrl: $resource/
    issuer: playground
    auth: device
    scope: orders
  mine:
    baseUrl: $resource/
    issuer: shop
    auth: user
    scope: orders
  bank:
    baseUrl: $base/gateway/
    issuer: am
    auth: user
    scope: orders
preauthorization:
  channels:
    kind: authzen
    baseUrl: $decider
    resourceType: channel
    action: view
store: { kind: memory }
log: { level: info, format: text }
development: { plainHTTPOnLoopback: true }
END

export POSTERN_SOCKET=$dir/postern.sock
PATH=$(dirname "$postern"):$PATH
hash -r

step "A configuration for a provider, an access manager, four resources and a decision point (on loopback)"
cat "$dir/postern.yaml"
run "postern check-config --config $dir/postern.yaml"
show
[[ $status == 0 ]] || fail "check-config ended with $status"

step "The sidecar, on a socket of its own"
printf '%s\n' "${cyan}\$ export POSTERN_SOCKET=$POSTERN_SOCKET" \
  "\$ postern serve --config $dir/postern.yaml --socket \$POSTERN_SOCKET &${plain}"
# setpriv: should this script be killed in a way that runs no trap, the sidecar ends too.
setpriv --pdeathsig TERM -- "$postern" serve --config "$dir/postern.yaml" --socket "$POSTERN_SOCKET" \
  </dev/null >"$dir/postern.log" 2>&1 {stdin_holder}>&- {decider_holder}>&- &
postern_pid=$!
await "$postern" probe --timeout 1 || fail "the sidecar does not answer"
stat -c '%A %U %n' "$POSTERN_SOCKET"

# MARK: calls

step "One line in, one line out: anything that can write to a Unix socket is a client"
run "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getInfo\"}' | socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET"
show
expect '$answer.id == 1 and $answer.result.name == "postern" and ($all | length) == 1'

step "The same with the command that comes along (one line in a pipe, indented on a terminal)"
run "postern call getInfo"
show_indented
[[ $status == 0 ]] || fail "postern call ended with $status"
expect '$answer.name == "postern" and ($answer.features | index("development.plainHTTPOnLoopback"))'

step "Indented input works: a text ends where its brackets end"
run "socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET <<'END'
{
  \"jsonrpc\": \"2.0\",
  \"id\": \"indented\",
  \"method\": \"health\"
}
END"
show
expect '$answer.id == "indented" and $answer.result.status == "ok"'

step "A resource that needs no token"
run "postern call fetchResource '{\"resource\":\"open\",\"path\":\"text\"}'"
show_indented
expect '$answer.status == 200 and ($answer.body | startswith("Grüße")) and $answer.attempts == 1'

step "A protected one: the sidecar gets a token for itself, and keeps it"
run "postern call fetchResource '{\"resource\":\"orders\",\"path\":\"orders\"}'"
show_indented
expect '$answer.status == 200 and ($answer.body | fromjson | .orders | length) == 2'
[[ $answer != *eyJ* && $answer != *svcsecret* ]] || fail "a token or secret is in the answer"

# A login in a browser, without one: the playground is told that alice logs in, and says where it sends the browser.
log_in() {
  curl -sf --max-time 5 -H 'Content-Type: application/json' -d '{"user":"alice","times":1}' "$control/login" >/dev/null &&
    curl -s --max-time 5 -o /dev/null -w '%{redirect_url}' "$1"
}

step "A user logs in: the caller gets a handle, the tokens stay in the sidecar"
run "postern call beginAuthorization '{\"issuer\":\"shop\",\"redirectUri\":\"http://127.0.0.1:8765/callback\"}'"
show_indented
expect '$answer.authorizationUrl and $answer.state'
callback=$(log_in "$(jq -r .authorizationUrl <<<"$answer")") || fail "the login does not work"
run "postern call completeAuthorization '{\"callbackUrl\":\"$callback\"}'"
show_indented
expect '$answer.subject == "user-1001" and $answer.kind == "user"'
[[ $answer != *eyJ* ]] || fail "a token is in the answer"
session=$(jq -r .session <<<"$answer")
run "postern call fetchResource '{\"resource\":\"mine\",\"path\":\"orders\",\"session\":\"$session\"}'"
show_indented
expect '$answer.status == 200'

step "The token is revoked behind its back: renewed once, nobody notices"
curl -sf --max-time 5 -H 'Content-Type: application/json' -d '{"revokeTokens":true}' "$control/faults" >/dev/null
run "postern call fetchResource '{\"resource\":\"mine\",\"path\":\"orders\",\"session\":\"$session\"}'"
show_indented
expect '$answer.status == 200 and $answer.attempts == 2 and $answer.tokenRefreshed'
run "postern call endSession '{\"session\":\"$session\"}'"
show_indented
expect '$answer.ended and $answer.upstream == "ended"'

step "An ID token that an application got itself: valid, and wrong in one thing"
challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
callback=$(log_in "$issuer/authorize?response_type=code&client_id=shop&redirect_uri=http://127.0.0.1:8765/callback&scope=openid&state=s&nonce=n-1&code_challenge=$challenge&code_challenge_method=S256") ||
  fail "the login does not work"
code=${callback#*code=}
id_token=$(curl -sf --max-time 5 -u shop:shopsecret -d grant_type=authorization_code -d "code=${code%%&*}" \
  -d redirect_uri=http://127.0.0.1:8765/callback -d "code_verifier=$verifier" "$issuer/token" | jq -r .id_token) ||
  fail "there is no ID token"
run "postern call validateIdToken '{\"issuer\":\"shop\",\"nonce\":\"n-1\",\"idToken\":\"$id_token\"}'"
show_indented
expect '$answer.valid and $answer.claims.sub == "user-1001" and $answer.key.alg == "RS256"'
run "postern call validateIdToken '{\"issuer\":\"shop\",\"nonce\":\"n-2\",\"idToken\":\"$id_token\"}'"
show_indented
expect '$answer.valid == false and $answer.error.code == "nonce_mismatch" and ($answer | has("claims") | not)'

step "Entitlements: what may alice view? A no has its reason; asked again, a yes comes from memory"
run "postern call preauthorize '{\"resources\":[\"news\",\"sports\"],\"context\":{\"subject\":\"alice\"}}'"
show_indented
expect '$answer.outcome == "response" and ($answer.decisions | map(.authorized)) == [true, false] and $answer.decisions[1].error.status == 403'
run "postern call preauthorize '{\"resources\":[\"news\"],\"context\":{\"subject\":\"alice\"}}'"
show_indented
expect '$answer.decisions[0].authorized and $answer.decisions[0].source == "local"'

step "Step-up: a gateway wants to know that it is really alice. The fetch stops with an advice and a continuation"
sso_token=$(curl -sf --max-time 5 -H 'Content-Type: application/json' -d '{"user":"alice"}' "$control/ssoTokens" | jq -r .tokenId) ||
  fail "alice cannot sign on"
run "postern call createSession '{\"issuer\":\"am\",\"grant\":{\"type\":\"sso\",\"ssoToken\":\"$sso_token\"}}'"
show_indented
session=$(jq -r .session <<<"$answer")
run "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fetchResource\",\"params\":{\"resource\":\"bank\",\"path\":\"service/pay\",\"session\":\"$session\"}}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET"
show
expect '$answer.error.code == 1017 and $answer.error.data.advice.value == "/alpha:ConfirmPassword"'
fetch=$(jq -r .error.data.continuation <<<"$answer")

step "The journey that satisfies it, one step: what the access manager asks, and the answer to it"
run "echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"authenticateWithAdvice\",\"params\":{\"continuation\":\"$fetch\"}}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET"
show
expect '$answer.result.state == "callbacks" and $answer.result.callbacks[0].type == "PasswordCallback"'
filled=$(jq -c '.result | {continuation, callbacks} | .callbacks[0].input[0].value = "alice-password"' <<<"$answer")
run "echo '{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"authenticateWithAdvice\",\"params\":$filled}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET"
show
expect '$answer.result.state == "completed"'

step "Now the very request that was stopped goes through"
run "postern call fetchResource '{\"continuation\":\"$fetch\"}'"
show_indented
expect '$answer.status == 200 and $answer.advicesSatisfied[0].type == "AuthenticateToServiceConditionAdvice"'

step "A transaction that must be confirmed, from Python: whoever runs this is asked what the access manager asks"
run "python3 - <<'END'
import json, os, socket
person = {\"PasswordCallback\": \"alice-password\", \"ConfirmationCallback\": 0}
with socket.socket(socket.AF_UNIX) as s:
    s.connect(os.environ[\"POSTERN_SOCKET\"])
    lines = s.makefile(\"rw\")
    def call(rpc, **params):
        lines.write(json.dumps({\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": rpc, \"params\": params}) + \"\\n\")
        lines.flush()
        return json.loads(lines.readline())
    answer = call(\"fetchResource\", resource=\"bank\", path=\"transaction/pay\", session=\"$session\", method=\"POST\", body=\"10 coins\")
    while answer.get(\"error\", {}).get(\"data\", {}).get(\"reason\") == \"advice_required\":
        fetch = answer[\"error\"][\"data\"][\"continuation\"]
        step = call(\"authenticateWithAdvice\", continuation=fetch)[\"result\"]
        while step[\"state\"] == \"callbacks\":
            for callback in step[\"callbacks\"]:
                if callback.get(\"input\"):
                    callback[\"input\"][0][\"value\"] = person[callback[\"type\"]]  # here a person is asked
            step = call(\"authenticateWithAdvice\", continuation=step[\"continuation\"], callbacks=step[\"callbacks\"])[\"result\"]
        answer = call(\"fetchResource\", continuation=fetch)
    print(json.dumps({\"status\": answer[\"result\"][\"status\"], \"advices\": answer[\"result\"][\"advicesSatisfied\"]}))
END"
show
expect '$answer.status == 200 and $answer.advices[0].type == "TransactionConditionAdvice"'

step "From Python: the standard library is enough"
run "python3 - <<'END'
import json, os, socket
with socket.socket(socket.AF_UNIX) as s:
    s.connect(os.environ[\"POSTERN_SOCKET\"])
    s.sendall(json.dumps({\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"fetchResource\",
                          \"params\": {\"resource\": \"orders\", \"path\": \"orders\"}}).encode() + b\"\\n\")
    print(json.loads(s.makefile().readline())[\"result\"][\"body\"])
END"
show
expect '$answer.orders[0].id == "A-1001"'

step "From Node: the same"
run "node - <<'END'
const socket = require('net').connect(process.env.POSTERN_SOCKET);
const params = { resource: 'open', path: 'echo', method: 'POST', parameters: { hello: 'world' } };
socket.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'fetchResource', params }) + '\\n');
require('readline').createInterface(socket).once('line', (line) => {
  console.log(JSON.parse(JSON.parse(line).result.body).body);
  socket.end();
});
END"
show
expect '$answer.hello == "world"'

step "Three messages at once: a fetch that takes ten seconds, a quick call, and a change of mind"
run "printf '%s\\n' \\
  '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fetchResource\",\"params\":{\"resource\":\"open\",\"path\":\"slow?ms=10000\"}}' \\
  '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"getInfo\"}' \\
  '{\"jsonrpc\":\"2.0\",\"method\":\"\$/cancelRequest\",\"params\":{\"id\":1}}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET"
show
expect '($all | length) == 2 and any($all[]; .id == 1 and .error.code == -32800) and any($all[]; .id == 2 and .result)'

step "Errors say what is wrong, and where: a spelling mistake in a param, and in a method's name"
run "postern call fetchResource '{\"resource\":\"orders\",\"path\":\"orders\",\"metod\":\"GET\"}'"
show_indented
[[ $status == 1 ]] || fail "postern call ended with $status"
expect '$answer.code == -32602 and $answer.data.reason == "invalid_params" and $answer.data.path == "/metod"'
run "postern call fetchResorce"
show_indented
[[ $status == 1 ]] || fail "postern call ended with $status"
expect '$answer.code == -32601 and $answer.data.reason == "method_not_found"'

step "What has been counted (Prometheus text): the sidecar's own token was obtained twice, since it was revoked in between"
run "postern call metrics | jq -r .text | grep -E '^postern_(rpc|upstream|token_cache)_requests_total'"
show
[[ $answer == *'postern_token_cache_requests_total{result="obtained"} 2'* ]] || fail "not two tokens obtained"
[[ $answer == *'postern_rpc_requests_total{method="fetchResource",outcome="request_cancelled"} 1'* ]] ||
  fail "the cancelled fetch is not counted"
expected=$((expected + 1))

# MARK: end

step "SIGTERM while a fetch is under way: it is answered, then the sidecar ends"
before=$(curl -sf --max-time 5 "$control/statistics" | jq .openRequests) || fail "the playground does not answer"
printf '%s\n' "${cyan}\$ postern call fetchResource '{\"resource\":\"open\",\"path\":\"slow?ms=1000\"}' &" \
  "\$ kill -TERM $postern_pid${plain}"
postern call fetchResource '{"resource":"open","path":"slow?ms=1000"}' >"$dir/last.json" 2>&1 {stdin_holder}>&- {decider_holder}>&- &
call_pid=$!
under_way() { (($(curl -sf --max-time 5 "$control/statistics" | jq .openRequests) > before)); }
await under_way || fail "the fetch does not arrive"
kill -TERM "$postern_pid"
wait "$call_pid" || fail "the pending fetch was not answered: $(cat "$dir/last.json")"
answer=$(cat "$dir/last.json")
show_indented
expect '$answer.status == 200'
gone() { ! kill -0 "$postern_pid"; }
await gone || fail "the sidecar does not end"
wait "$postern_pid"
status=$?
postern_pid=''
[[ $status == 0 ]] || fail "the sidecar ended with $status"
[[ ! -e $POSTERN_SOCKET ]] || fail "the socket is still there"
printf '%s\n' "${dim}exit code 0, the socket is gone; its log:$plain"
cat "$dir/postern.log"

printf '\n%s\n\n' "${green}All $expected answers were as expected.$plain"
cat <<'END'
What to try next:
  .build/release/playground --port 8080        the provider and resources used here; see --help
  .build/release/postern configuration         an annotated example configuration
  .build/release/postern serve --help
  proto-docs/wire.md                           every method, parameter and rule
END
