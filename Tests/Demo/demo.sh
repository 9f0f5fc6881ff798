#!/usr/bin/env bash
# The tour of five minutes: each step shows the command that a person would type, and its output.
#
#   make demo                     builds both binaries first
#   Tests/Demo/demo.sh            uses .build/release, or $POSTERN_BIN and $PLAYGROUND_BIN
#   DEMO_PAUSE=1 make demo        waits for Enter between the steps
#
# Every output is checked, so this is a test as well: exit 0 when all are as expected. Everything runs in a temporary
# directory and is always stopped (stage.sh). Colours on a terminal only, unless NO_COLOR is set.
set -uo pipefail
umask 077

stage=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$stage/../.." && pwd)
postern=$(realpath "${POSTERN_BIN:-$root/.build/release/postern}" 2>/dev/null)
playground=$(realpath "${PLAYGROUND_BIN:-$root/.build/release/playground}" 2>/dev/null)
# A Python with requests: Debian's own if it has them, else the first on the PATH.
python=$(/usr/bin/python3 -c 'import requests' 2>/dev/null && echo /usr/bin/python3 || command -v python3)
# shellcheck source=Tests/Demo/stage.sh
source "$stage/stage.sh"

set_the_stage
cat <<END

${bold}Postern: the tour of five minutes$plain
The playground (a provider, an access manager, resource servers) and a decision point run on loopback.
Everything is in $dir, and gone at the end.
END

step "A configuration" \
  "Issuers of tokens, resources, decision points. check-config reports all problems at once, with line and column."
run "cat postern.yaml"
run "postern check-config postern.yaml"
[[ $status == 0 ]] || fail "check-config ended with $status"

step "The sidecar" "One process, one socket, which only this user may open (mode 0600)."
export POSTERN_SOCKET=$dir/postern.sock
printf '%s\n' "${cyan}\$ export POSTERN_SOCKET=\$PWD/postern.sock" \
  "\$ postern serve --config postern.yaml --socket \$POSTERN_SOCKET 2>postern.log &$plain"
start_the_sidecar
healthy() { [[ $("$postern" call health | jq -r .status) == ok ]]; } # health waits at most a second for the issuers' keys
await healthy || fail "the issuers do not give their keys"
run "postern probe && stat -c '%A %U %n' \$POSTERN_SOCKET"
expect_text 'srw-------'

step "One line in, one line out" \
  "Anything that can write to a Unix socket is a client. Indented input works, too: a text ends where its brackets end."
run "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getInfo\"}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET"
expect '$answer.id == 1 and $answer.result.name == "postern" and ($all | length) == 1 and
  ($answer.result.features | index("development.plainHTTPOnLoopback"))'
run "socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET <<'END'
{
  \"jsonrpc\": \"2.0\",
  \"id\": \"indented\",
  \"method\": \"health\"
}
END"
expect '$answer.id == "indented" and $answer.result.status == "ok"'

step "fetchResource: a protected resource" \
  "The sidecar obtains a token by client credentials, sends it with the request and caches it. Neither token nor secret enters your program."
run "postern call fetchResource '{\"resource\":\"orders\",\"path\":\"orders\"}'"
[[ $status == 0 ]] || fail "postern call ended with $status"
expect '$answer.status == 200 and ($answer.body | fromjson | .orders | length) == 2 and $answer.attempts == 1'

step "A user logs in" \
  "Your program sends the browser to the URL with a cookie that holds the state, and passes the callback and the cookie's state on: it gets a handle, the tokens stay in the sidecar. Here the playground logs in alice, and curl is the browser."
run "postern call beginAuthorization issuer=shop redirectUri=http://127.0.0.1:8765/callback >begun.json
curl -s -o /dev/null -d '{\"user\":\"alice\",\"times\":1}' \$PLAYGROUND/login
callback=\$(curl -s -o /dev/null -w '%{redirect_url}' \"\$(jq -r .authorizationUrl begun.json)\")
postern call completeAuthorization callbackUrl=\"\$callback\" state=\"\$(jq -r .state begun.json)\" | tee session.json | jq ."
expect '$answer.subject == "user-1001" and $answer.kind == "user"'
run "session=\$(jq -r .session session.json)
postern call fetchResource \"{\\\"resource\\\":\\\"mine\\\",\\\"path\\\":\\\"orders\\\",\\\"session\\\":\\\"\$session\\\"}\" | jq -c '{status, attempts, tokenRefreshed}'"
expect '$answer == {status: 200, attempts: 1, tokenRefreshed: false}'

step "A revoked token" \
  "The provider revokes all its tokens. The resource returns 401, the sidecar refreshes once for all callers, and retries the request."
run "curl -s -o /dev/null -d '{\"revokeTokens\":true}' \$PLAYGROUND/faults
postern call fetchResource \"{\\\"resource\\\":\\\"mine\\\",\\\"path\\\":\\\"orders\\\",\\\"session\\\":\\\"\$session\\\"}\" | jq -c '{status, attempts, tokenRefreshed}'"
expect '$answer == {status: 200, attempts: 2, tokenRefreshed: true}'
run "postern call endSession \"{\\\"session\\\":\\\"\$session\\\"}\""
expect '$answer.ended and $answer.upstream == "ended"'

# An ID token, as in an application that logs in its users itself.
challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
curl -sf --max-time 5 -o /dev/null -d '{"user":"alice","times":1}' "$PLAYGROUND/login" &&
  callback=$(curl -s --max-time 5 -o /dev/null -w '%{redirect_url}' "$ISSUER/authorize?response_type=code&client_id=shop&redirect_uri=http://127.0.0.1:8765/callback&scope=openid&state=s&nonce=n-1&code_challenge=$challenge&code_challenge_method=S256") &&
  code=${callback#*code=} &&
  ID_TOKEN=$(curl -sf --max-time 5 -u shop:shopsecret -d grant_type=authorization_code -d "code=${code%%&*}" \
    -d redirect_uri=http://127.0.0.1:8765/callback -d "code_verifier=$verifier" "$ISSUER/token" | jq -r .id_token) &&
  export ID_TOKEN || fail "there is no ID token"

step "validateIdToken: every rule, each with its own code" \
  "\$ID_TOKEN is the token of an application's own login. First it is valid, then it has the nonce of another login."
run "postern call validateIdToken \"{\\\"issuer\\\":\\\"shop\\\",\\\"nonce\\\":\\\"n-1\\\",\\\"idToken\\\":\\\"\$ID_TOKEN\\\"}\" | jq -c '{valid, sub: .claims.sub, key}'"
expect '$answer.valid and $answer.sub == "user-1001" and $answer.key.alg == "RS256"'
run "postern call validateIdToken \"{\\\"issuer\\\":\\\"shop\\\",\\\"nonce\\\":\\\"n-2\\\",\\\"idToken\\\":\\\"\$ID_TOKEN\\\"}\""
expect '$answer.valid == false and $answer.error.code == "nonce_mismatch" and ($answer | has("claims") | not)'

step "preauthorize: what may alice view?" \
  "A denial is a result with its reason; a failure to decide would be another outcome. The second time, a permit comes from the cache."
run "postern call preauthorize '{\"provider\":\"channels\",\"resources\":[\"news\",\"sports\"],\"context\":{\"subject\":\"alice\"}}'"
expect '$answer.outcome == "response" and ($answer.decisions | map(.authorized)) == [true, false] and $answer.decisions[1].error.status == 403'
run "postern call preauthorize '{\"provider\":\"channels\",\"resources\":[\"news\"],\"context\":{\"subject\":\"alice\"}}' | jq -c .decisions"
expect '$answer[0].authorized and $answer[0].source == "local"'

step "Adobe Pass: a television and a phone" \
  "A television has no keyboard: it shows a code, and waits. Its user types the code on a page that the phone has open; here both use one sidecar. The playground is Adobe Pass and the TV provider."
terminal=television
run "postern call pass.createSession provider=tv | tee code.json | jq '{actionName, code, missingParameters, expiresAt}'"
expect '$answer.actionName == "resume" and ($answer.code | length) > 0 and $answer.missingParameters == ["mvpd", "domainName", "redirectUrl"]'
code=$(jq -r .code code.json)
printf '%s\n' "$cyan$terminal\$ code=\$(jq -r .code code.json)" \
  "postern call --timeout 660 pass.listProfiles provider=tv code=\$code waitMs:=600000 >login.json &$plain"
postern call --timeout 660 pass.listProfiles provider=tv "code=$code" waitMs:=600000 >login.json 2>&1 {stdin_holder}>&- {decider_holder}>&- &
television_pid=$!
terminal=phone
run "postern call pass.getSession provider=tv code=\$code secondScreen:=true | jq -c '{device, missingParameters}'"
expect '$answer.device.model == "Settop 5" and ($answer.missingParameters | index("mvpd"))'
run "postern call pass.getConfiguration provider=tv | jq -c '[.mvpds[] | .displayName]'"
expect '($answer | index("Cablevision")) and ($answer | index("Trial") | not)'
run "postern call pass.resumeSession provider=tv code=\$code mvpd=Cablevision \\
  domainName=example.com redirectUrl=http://127.0.0.1:8765/tv secondScreen:=true | tee page.json | jq -c '{actionName, mvpd, url}'"
expect '$answer.actionName == "authenticate" and ($answer.url | startswith("http://127.0.0.1:"))'
run "page=\$(curl -s -o /dev/null -w '%{redirect_url}' \"\$(jq -r .url page.json)\")   # curl is the browser
curl -s -o /dev/null -w '%{redirect_url}\n' -d \"session=\${page#*session=}\" -d username=alice -d password=alice-password \"\$page\""
expect_text 'http://127.0.0.1:8765/tv'
terminal=television
run "wait $television_pid && jq '{state, selected, profiles: [.profiles[] | {mvpd, type, expiresAt}]}' login.json"
expect '$answer.state == "authenticated" and $answer.selected == "Cablevision" and ($answer.profiles | map(.type)) == ["regular"]'
run "postern call preauthorize provider=tv resources:='[\"news\",\"boxing-deny\"]' | jq -c '.decisions[] | {id, authorized, code: .error.code}'"
expect '$all == [{id: "news", authorized: true, code: null}, {id: "boxing-deny", authorized: false, code: "preauthorization_denied_by_mvpd"}]'
run "postern call pass.authorize provider=tv resources:='[\"news\"]' |
  jq -c '.decisions[] | {id, authorized, mediaToken: (.token.serializedToken[:6] + \"…\"), until: .token.expiresAt}'"
expect '$answer.authorized and ($answer.mediaToken | length) == 7 and $answer.until'
run "postern call pass.logout provider=tv | jq -c '{upstream, forgotten, logouts: [.logouts[] | {mvpd, actionName}]}'"
expect '$answer == {upstream: "ended", forgotten: ["Cablevision"], logouts: [{mvpd: "Cablevision", actionName: "logout"}]}'
run "postern call pass.listProfiles provider=tv | jq -c '{state, profiles}'"
expect '$answer == {state: "unauthenticated", profiles: []}'
terminal=''

step "authenticateWithAdvice: step-up" \
  "A gateway requires that alice authenticates again. The fetch is suspended with an advice and a continuation; the questions of the journey are answered; then the original request is retried."
# shellcheck disable=SC2034  # used by what run() evaluates
SSO_TOKEN=$(curl -sf --max-time 5 -d '{"user":"alice"}' "$PLAYGROUND/ssoTokens" | jq -r .tokenId) ||
  fail "alice cannot sign on"
run "session=\$(postern call createSession \"{\\\"issuer\\\":\\\"am\\\",\\\"grant\\\":{\\\"type\\\":\\\"sso\\\",\\\"ssoToken\\\":\\\"\$SSO_TOKEN\\\"}}\" | jq -r .session)
echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fetchResource\",\"params\":{\"resource\":\"bank\",\"path\":\"service/pay\",\"session\":\"'\$session'\"}}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET | tee stopped.json | jq '.error | {code, message, data: (.data | {reason, advice, continuation})}'"
expect '$answer.code == 1017 and $answer.data.advice.value == "/alpha:ConfirmPassword"'
run "fetch=\$(jq -r .error.data.continuation stopped.json)
echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"authenticateWithAdvice\",\"params\":{\"continuation\":\"'\$fetch'\"}}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET | tee page.json | jq '.result | {state, callbacks}'"
expect '$answer.state == "callbacks" and $answer.callbacks[0].type == "PasswordCallback"'
run "filled=\$(jq -c '.result | {continuation, callbacks} | .callbacks[0].input[0].value = \"alice-password\"' page.json)
echo '{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"authenticateWithAdvice\",\"params\":'\$filled'}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET | jq -c .result"
expect '$answer.state == "completed"'
run "postern call fetchResource \"{\\\"continuation\\\":\\\"\$fetch\\\"}\" | jq -c '{status, advicesSatisfied: [.advicesSatisfied[].type]}'"
expect '$answer.status == 200 and $answer.advicesSatisfied == ["AuthenticateToServiceConditionAdvice"]'

step "Python: a program that uses requests" \
  "Mount one object (pip install ./clients/python). There are adapters for httpx and aiohttp, too."
run "cat orders.py"
run "python3 orders.py"
[[ $status == 0 ]] || fail "orders.py ended with $status"
expect_text 'A-1001 2 coffee'

step "Python: a payment that must be confirmed" \
  "A delegate is a function that the sidecar calls back while the fetch waits. The code that fetches does not notice the step-up."
run "cat pay.py"
run "python3 pay.py \$session"
[[ $status == 0 ]] || fail "pay.py ended with $status"
expect_text 'the gateway wants TransactionConditionAdvice'
expect_text '200 paid: 10 coins'

step "Node: a fetch that gets tokens by itself" \
  "A real Response, no dependencies (npm install ./clients/node). A URL that is not allowed is rejected before anything is sent."
run "cat orders.mjs"
run "node orders.mjs"
[[ $status == 0 ]] || fail "orders.mjs ended with $status"
expect_text '200 application/json'
expect_text 'origin_not_allowed not_sent'

step "Three messages at once" \
  "A fetch that takes ten seconds, a quick call, and a cancellation. Responses come as soon as they are ready, matched by id."
run "printf '%s\\n' \\
  '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fetchResource\",\"params\":{\"resource\":\"open\",\"path\":\"slow?ms=10000\"}}' \\
  '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"health\"}' \\
  '{\"jsonrpc\":\"2.0\",\"method\":\"\$/cancelRequest\",\"params\":{\"id\":1}}' |
  socat -t 30 - UNIX-CONNECT:\$POSTERN_SOCKET | jq -c '{id, status: .result.status, error: .error.data.reason}'"
expect '($all | length) == 2 and any($all[]; . == {id: 1, status: null, error: "request_cancelled"}) and any($all[]; .id == 2 and .status)'

step "Errors" \
  "A reason to switch on, the position of the error, and whether anything was sent. The command exits with status 1."
run "postern call fetchResource '{\"resource\":\"orders\",\"path\":\"orders\",\"metod\":\"GET\"}'"
[[ $status == 1 ]] || fail "postern call ended with $status"
expect '$answer.code == -32602 and $answer.data.reason == "invalid_params" and $answer.data.path == "/metod"'
run "postern call fetchResource '{\"resource\":\"orders\",\"path\":\"../admin\"}' 2>&1 | jq -c '{code, reason: .data.reason, outcome: .data.outcome}'"
expect '$answer.code == 1006 and $answer.outcome == "not_sent"'

counted() { [[ $(postern call metrics) == *'outcome=\"request_cancelled\"} 1'* ]]; } # a moment after the response
await counted || fail "the cancelled call is not counted"
step "Metrics" \
  "Prometheus text; http.listen serves it, too. The token from client credentials was obtained twice, because it was revoked in between."
run "postern call metrics | jq -r .text | grep -E '^postern_(token_cache_requests|rpc_requests).*(obtained|Resource)'"
expect_text 'postern_token_cache_requests_total{result="obtained"} 2'
expect_text 'postern_rpc_requests_total{method="fetchResource",outcome="request_cancelled"} 1'

step "The end" \
  "SIGTERM during a fetch: the fetch is completed, then the sidecar exits, and its socket is gone."
open_requests() { curl -sf --max-time 5 "$PLAYGROUND/statistics" | jq .openRequests; }
before=$(open_requests) || fail "the playground does not answer"
postern_pid_shown=$postern_pid
printf '%s\n' "$cyan\$ postern call fetchResource '{\"resource\":\"open\",\"path\":\"slow?ms=1000\"}' >last.json &$plain"
postern call fetchResource '{"resource":"open","path":"slow?ms=1000"}' >last.json 2>&1 {stdin_holder}>&- {decider_holder}>&- &
call_pid=$!
under_way() { (($(open_requests) > before)); }
await under_way || fail "the fetch does not arrive"
run "kill -TERM $postern_pid_shown
wait $call_pid && jq -c '{status, body}' last.json"
expect '$answer.status == 200 and $answer.body == "{\"sleptMs\":1000}"'
gone() { ! kill -0 "$postern_pid"; }
await gone || fail "the sidecar does not end"
wait "$postern_pid"
status=$?
postern_pid=''
[[ $status == 0 ]] || fail "the sidecar ended with $status"
[[ ! -e $POSTERN_SOCKET ]] || fail "the socket is still there"
run "cat postern.log"
expect_text 'info ended'

cat <<END

${green}All $expected answers were as expected.$plain

${bold}What to try next$plain
  proto-docs/five-minutes.md                  the same by hand, then with your own provider
  .build/release/playground --port 8080       the upstream used here
  examples/run television                     the television, with a page for the phone's browser
  .build/release/postern configuration        an annotated example of every key
  clients/python/README.md, clients/node/README.md, proto-docs/swift.md
  proto-docs/reference/README.md              every method, with examples
  proto-docs/deployment.md                    container, pod, systemd
END
