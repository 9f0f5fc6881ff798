# shellcheck shell=bash disable=SC2154  # its variables are those of demo.sh
# The set-up of the tour (sourced by demo.sh): shows and checks steps, starts the servers, and always stops them.

# MARK: output

if [[ ${DEMO_COLOR:-} == always || (-t 1 && -z ${NO_COLOR-}) ]]; then
  bold=$'\e[1m' dim=$'\e[2m' cyan=$'\e[36m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m' jq_colour=-C
else
  bold='' dim='' cyan='' green='' red='' plain='' jq_colour=-M
fi
steps=0 expected=0 answer='' status=0 terminal=''

# A step of the tour: $1 is its title, $2 its explanation.
step() {
  if [[ ${DEMO_PAUSE-} && -t 0 && $steps != 0 ]]; then
    read -rsp "${dim}Enter goes on${plain}"
    printf '\r\e[K'
  fi
  steps=$((steps + 1))
  printf '\n%s\n%s\n\n' "$bold$green$steps. $plain$bold$1$plain" "$dim$(fold -s -w 100 <<<"$2" | sed 's, *$,,')$plain"
}

# Shows the command $1 after the prompt of $terminal, which may be empty, executes it in this shell, and stores its
# output in $answer, its exit status in $status. Further lines are not indented, so that the command can be pasted.
run() {
  printf '%s\n' "$cyan$terminal\$ $1$plain"
  eval "$1" >"$dir/.answer" 2>&1
  status=$?
  answer=$(<"$dir/.answer")
  [[ -z $answer ]] && return
  # As on a terminal: there `postern call` and jq indent, without an option against it; socat does not.
  local last=${1##*$'\n'} form='-c .'
  [[ $last == 'postern call'* && $last != *'|'* || $last =~ \|\ jq\ [^-] ]] && form=.
  jq $jq_colour $form <<<"$answer" 2>/dev/null >.coloured && cat .coloured || printf '%s\n' "$answer"
}

# The output (a stream of JSON texts, read as the array $all) must match the jq filter $1.
expect() {
  jq -se ". as \$all | .[0] as \$answer | ($1)" <<<"$answer" >/dev/null 2>&1 || fail "not what was expected: $1"
  [[ ! $answer =~ eyJ[A-Za-z0-9_-]+\.eyJ && $answer != *svcsecret* && $answer != *shopsecret* ]] ||
    fail "a token or secret is in the answer"
  expected=$((expected + 1))
}

# The text of the output must contain $1.
expect_text() {
  [[ $answer == *"$1"* ]] || fail "not in the answer: $1"
  expected=$((expected + 1))
}

fail() {
  printf '%s\n' "${red}demo: $*${plain}" >&2
  if [[ -s $dir/postern.log ]]; then
    echo "The end of the sidecar's log:" >&2
    tail -n 15 "$dir/postern.log" >&2
  fi
  exit 1
}

# MARK: start and stop

dir='' playground_pid='' decider_pid='' postern_pid='' stdin_holder='' decider_holder=''

# Waits up to twenty seconds until the given command succeeds.
await() {
  for _ in {1..400}; do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  return 1
}

# Stops process $1: SIGTERM, then SIGKILL after three seconds.
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
  [[ $stdin_holder ]] && exec {stdin_holder}>&- {decider_holder}>&- # both upstreams stop by themselves then
  end "$postern_pid"
  end "$playground_pid"
  end "$decider_pid"
  cd / && [[ $dir ]] && rm -rf "$dir"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Starts the upstreams, and enters a directory with the tour's files. Sets PLAYGROUND and ISSUER.
set_the_stage() {
  local program resource open base decider
  for program in curl jq node python3 setpriv socat; do
    command -v "$program" >/dev/null || fail "$program is not installed (make deps-demo)"
  done
  [[ -x $postern && -x $playground ]] || fail "there are no binaries in .build/release (make release)"
  dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-demo.XXXXXX") || fail "no temporary directory"
  cd "$dir" || fail "no temporary directory"

  # Their standard input is open while this script runs: however it exits, they stop, too.
  mkfifo "$dir/.stdin" "$dir/.decider-stdin"
  "$playground" --port 0 --exit-with-stdin <"$dir/.stdin" >"$dir/.playground.json" 2>"$dir/.playground.log" &
  playground_pid=$!
  "$python" "$stage/decision_point.py" <"$dir/.decider-stdin" >"$dir/.decider.url" 2>"$dir/.decider.log" &
  decider_pid=$!
  exec {stdin_holder}>"$dir/.stdin" {decider_holder}>"$dir/.decider-stdin"
  await test -s "$dir/.decider.url" || fail "the decision point does not start: $(cat "$dir/.decider.log")"
  await test -s "$dir/.playground.json" || fail "the playground does not start: $(cat "$dir/.playground.log")"
  decider=$(<"$dir/.decider.url")
  ISSUER=$(jq -r .issuer .playground.json) && resource=$(jq -r .resource .playground.json) &&
    open=$(jq -r .open .playground.json) && PLAYGROUND=$(jq -r .control .playground.json) ||
    fail "the playground's announcement cannot be read"
  base=${PLAYGROUND%/playground}
  export ISSUER PLAYGROUND

  printf 'svcsecret\n' >svc.secret
  printf 'shopsecret\n' >shop.secret
  printf 'eyJhbGciOiJub25lIn0.eyJzb2Z0d2FyZV9pZCI6InBsYXlncm91bmQifQ.c2lnbmF0dXJl\n' >software.statement
  cat >postern.yaml <<END
issuers:                                  # they issue tokens; endpoints and keys are discovered
  svc:  { issuer: $ISSUER, clientId: svc, clientSecretFile: svc.secret }
  shop: { issuer: $ISSUER, clientId: shop, clientSecretFile: shop.secret, scope: openid orders offline_access }
  am:
    issuer: $ISSUER
    clientId: shop
    clientSecretFile: shop.secret
    scope: openid orders
    redirectUri: http://127.0.0.1:8765/callback
    accessManager: { baseUrl: $base/am, realm: alpha }
resources:                                # the servers that the tokens are for
  open:   { baseUrl: $open/, auth: none }
  orders: { baseUrl: $resource/, auth: clientCredentials, issuer: svc, scope: orders }
  mine:   { baseUrl: $resource/, auth: user, issuer: shop, scope: orders }
  bank:   { baseUrl: $base/gateway/, auth: user, issuer: am, scope: orders }
preauthorization:                         # the servers that decide what a user may access
  channels: { kind: authzen, baseUrl: $decider, resourceType: channel, action: view }
  tv:                                     # Adobe Pass: logins of televisions at TV providers (MVPDs)
    kind: adobe-pass
    baseUrl: $base/adobe
    serviceProvider: REF30
    softwareStatementFile: software.statement
    deviceIdFile: device-id
    deviceInfo: { model: Settop 5, primaryHardwareType: SetTopBox }
    domainNames: [example.com]
    redirectUrls: ["http://127.0.0.1:8765/tv"]
    pollInterval: 3s
store: { kind: memory }
log: { format: text }
development: { plainHTTPOnLoopback: true }
END
  # The packages that pip and npm would install.
  cp "$stage"/orders.py "$stage"/pay.py "$stage"/orders.mjs .
  mkdir node_modules
  ln -s "$root/clients/node" node_modules/postern-auth
  export PYTHONPATH=$root/clients/python/src PYTHONDONTWRITEBYTECODE=1
  PATH=$(dirname "$(command -v "$python")"):$(dirname "$postern"):$PATH
  hash -r
}

# Starts the sidecar on POSTERN_SOCKET.
start_the_sidecar() {
  # setpriv: when this script is killed without running a trap, the sidecar stops, too.
  setpriv --pdeathsig TERM -- "$postern" serve --config postern.yaml --socket "$POSTERN_SOCKET" \
    </dev/null >postern.log 2>&1 {stdin_holder}>&- {decider_holder}>&- &
  postern_pid=$!
  await "$postern" probe --ready --timeout 2 || fail "the sidecar does not become ready"
}
