import PosternConfiguration
import Testing

@Suite("Keys that are not known")
struct UnknownKeyTests {
  @Test(
    "An unknown key is a problem with its location and the closest known key",
    arguments: [
      ("limits:\n  depht: 3\n", "2:3: limits.depht: unknown key; did you mean depth?"),
      ("limit: {}\n", "1:1: limit: unknown key; did you mean limits?"),
      ("listen: { socket: /a }\n", "1:11: listen.socket: unknown key"),
      (
        "issuers:\n  corp:\n    issuer: https://a.example\n    client_id: x\n",
        "4:5: issuers.corp.client_id: unknown key; did you mean clientId?"
      ),
      (
        "resources:\n  a: { baseUrl: https://a.example, auth: none, tls: { CAFile: /x } }\n",
        "2:55: resources.a.tls.CAFile: unknown key; did you mean caFile?"
      ),
      (
        "peers:\n  - uid: 1\n    methods: []\n    resource: []\n",
        "4:5: peers[0].resource: unknown key; did you mean resources?"
      ),
      ("{\"tokens\":\n {\"leaveTheSidecar\": false,\n  \"leave\": true}}", "3:3: tokens.leave: unknown key"),
      ("é: 1\n", "1:1: \"é\": unknown key"),
      ("\"a\\nb\": 1\n", "1:1: \"a\u{FFFD}b\": unknown key"),
    ])
  func position(yaml: String, problem: String) {
    #expect(Fixture(yaml).problems == [problem])
  }

  @Test("Case counts: keys are camelCase")
  func caseCounts() {
    #expect(Fixture("Limits: {}\n").problems == ["1:1: Limits: unknown key; did you mean limits?"])
  }

  @Test("All problems are reported at once, in the order of the file")
  func allAtOnce() {
    let yaml = """
      limits: { depth: 0, batch: many }
      log:
        level: loud
        colour: true
      listen:
        path: /run/a.sock
        path: /run/b.sock
      resources:
        billing:
          auth: user
          timeout: 30
        open: { baseUrl: ftp://a.example, auth: none }
      """
    #expect(
      Fixture(yaml).problems == [
        "1:18: limits.depth: out of range: must be a whole number from 1 to 512",
        "1:28: limits.batch: must be a whole number from 1 to 10000",
        "3:10: log.level: must be one of trace, debug, info, notice, warning, error, critical",
        "4:3: log.colour: unknown key",
        "7:3: listen.path: given more than once (first in line 6)",
        "10:5: resources.billing: baseUrl is missing",
        "10:11: resources.billing.auth: auth: user needs an issuer",
        "11:14: resources.billing.timeout: a duration needs a unit: write 30s or 30ms (units: ms, s, m, h, d)",
        "12:20: resources.open.baseUrl: must begin with https://",
      ])
  }

  @Test("A problem names its file, so that an editor can jump there")
  func file() {
    guard case .failure(let problems) = Fixture("x: 1").load() else {
      Issue.record("must not load")
      return
    }
    #expect(problems.description == "/etc/postern/postern.yaml:1:1: x: unknown key")
    #expect(problems.problems.first?.line == 1)
    #expect(problems.problems.first?.column == 1)
    #expect(problems.problems.first?.keyPath == "x")
  }
}
