import PosternConfiguration
import Testing

@Suite("Sections that refer to each other, and what they demand")
struct ReferenceTests {
  private static let issuer =
    "issuers: { corp: { issuer: \"https://a.example\", clientId: shop, clientSecretFile: /s } }"

  private static func problems(_ yaml: String, issuers: String = issuer) -> [String] {
    var fixture = Fixture("\(issuers)\n\(yaml)")
    fixture.hasAllFiles = true
    return fixture.problems.map { String($0.drop { $0 != " " }.dropFirst()) }
  }

  @Test(
    "What a resource demands of its issuer",
    arguments: [
      ("auth: none", []),
      ("auth: none, issuer: corp", []),
      ("issuer: corp", []),
      ("issuer: corp, auth: clientCredentials", []),
      ("auth: user", ["resources.a.auth: auth: user needs an issuer"]),
      ("auth: clientCredentials", ["resources.a.auth: auth: clientCredentials needs an issuer"]),
      ("issuer: crop", ["resources.a.issuer: there is no issuer crop; did you mean corp?"]),
      ("issuer: other, auth: none", ["resources.a.issuer: there is no issuer other"]),
      ("issuer: corp, auth: implicit", ["resources.a.auth: auth: implicit needs the section issuers.corp.implicit"]),
      ("auth: credential, credential: { header: X-Api-Key, valueFile: /k }", []),
      ("auth: credential, credential: { query: key, valueFile: /k }", []),
      ("auth: credential, credential: { basic: { username: a, passwordFile: /k } }", []),
      ("auth: credential, issuer: corp, credential: { header: X-Api-Key, valueFile: /k }", []),
      ("auth: credential", ["resources.a.auth: auth: credential needs the section credential"]),
      (
        "auth: none, credential: { header: X-Api-Key, valueFile: /k }",
        ["resources.a.credential: goes with auth: credential only"]
      ),
      (
        "auth: credential, credential: { valueFile: /k }",
        ["resources.a.credential: header, query or basic is missing"]
      ),
      ("auth: credential, credential: { header: X-Api-Key }", ["resources.a.credential: valueFile is missing"]),
      (
        "auth: credential, credential: { header: X-Api-Key, query: key, valueFile: /k }",
        ["resources.a.credential: give only one of header, query"]
      ),
      (
        "auth: credential, credential: { query: key, prefix: a, valueFile: /k }",
        ["resources.a.credential.prefix: goes with header only"]
      ),
      (
        "auth: credential, credential: { basic: { username: a, passwordFile: /k }, valueFile: /k }",
        ["resources.a.credential.valueFile: the password belongs into the section basic"]
      ),
      (
        "auth: credential, credential: { basic: { username: a } }",
        ["resources.a.credential.basic: passwordFile is missing"]
      ),
      (
        "issuer: corp, senderConstraint: mtls",
        [
          "resources.a.senderConstraint: mtls needs a client certificate: tls.clientCertificateFile, or the issuer's clientCertificateFile"
        ]
      ),
      (
        "issuer: corp, auth: clientCredentials, senderConstraint: mtls, tls: { clientCertificateFile: /c, clientKeyFile: /k }",
        []
      ),
      (
        "issuer: corp, senderConstraint: mtls, tls: { clientCertificateFile: /c, clientKeyFile: /k }",
        [
          "resources.a.senderConstraint: users' tokens are bound to issuers.corp.clientCertificateFile: give it, and leave tls.clientCertificateFile out"
        ]
      ),
      (
        "issuer: corp, tls: { clientCertificateFile: /c }",
        ["resources.a.tls: clientCertificateFile and clientKeyFile belong together"]
      ),
      (
        "issuer: corp, tls: { clientKeyFile: /c }",
        ["resources.a.tls: clientCertificateFile and clientKeyFile belong together"]
      ),
      ("issuer: corp, payloadEncryption: {}", ["resources.a.payloadEncryption: recipientKeyFile is missing"]),
      (
        "issuer: corp, payloadEncryption: { recipientKeyFile: /k, algorithm: RSA1_5 }",
        [
          "resources.a.payloadEncryption.algorithm: RSA1_5 is never accepted: it invites padding oracles (RFC 8725 section 3.2)"
        ]
      ),
      ("issuer: corp, refreshOn: {}", ["resources.a.refreshOn: status is missing"]),
      (
        "issuer: corp, refreshOn: { status: [200] }",
        ["resources.a.refreshOn.status[0]: out of range: must be a whole number from 400 to 599"]
      ),
    ] as [(String, [String])])
  func resources(keys: String, problems: [String]) {
    #expect(Self.problems("resources: { a: { baseUrl: \"https://b.example\", \(keys) } }") == problems)
  }

  private static let idle = "has no effect without an issuer: no session or token is ever used here"
  private static let unrequested =
    "has no effect without clientId: the issuer's tokens are validated, and none is requested"

  @Test(
    "A setting that another one disables is accepted, or one that has an effect is not",
    arguments: [
      ("resources: { a: { baseUrl: 'https://b.example', auth: none, advice: { enabled: false } } }", []),
      (
        "resources: { a: { baseUrl: 'https://b.example', auth: none, advice: { rounds: 2 } } }",
        ["resources.a.advice: \(idle)"]
      ),
      (
        "resources: { a: { baseUrl: 'https://b.example', auth: none, scope: x, refreshOn: { status: [401] } } }",
        ["resources.a.scope: \(idle)", "resources.a.refreshOn: \(idle)"]
      ),
      (
        "resources: { a: { baseUrl: 'https://b.example', auth: none, senderConstraint: dpop } }",
        ["resources.a.senderConstraint: \(idle)"]
      ),
      (
        "resources: { a: { baseUrl: 'https://b.example', auth: none, tokens: { whenNoSession: send_without_token } } }",
        ["resources.a.tokens: \(idle)"]
      ),
      ("resources: { a: { baseUrl: 'https://b.example', auth: none, issuer: corp, scope: x, advice: {} } }", []),
      (
        "issuers: { b: { issuer: 'https://b.example', scope: x, redirectUri: 'https://c.example/' } }",
        ["issuers.b.redirectUri: \(unrequested)", "issuers.b.scope: \(unrequested)"]
      ),
      (
        "preauthorization: { a: { kind: opa, baseUrl: 'https://b.example', path: a, subjectClaims: [roles] } }",
        ["preauthorization.a.subjectClaims: has no effect without an issuer: they are claims of a session"]
      ),
      (
        "gateway: { listen: { address: '127.0.0.1:7080', key: 0123456789abcdef, mode: '0660' } }",
        ["gateway.listen.mode: goes with path only"]
      ),
      (
        "validation: { tls: { caFile: /c } }", ["validation.tls: has no effect without jwksOrigins"]
      ),
    ] as [(String, [String])])
  func effects(yaml: String, problems: [String]) {
    #expect(Set(Self.problems(yaml, issuers: yaml.hasPrefix("issuers") ? "" : Self.issuer)) == Set(problems))
  }

  @Test(
    "A bound of something that is off is a problem, or passes without a word",
    arguments: [
      ("resources: { a: { baseUrl: 'https://b.example', auth: none, cookies: { maxCookies: 2 } } }", "maxCookies"),
      (
        "resources: { a: { baseUrl: 'https://b.example', auth: none, advice: { enabled: false, rounds: 2 } } }",
        "rounds"
      ),
      ("store: { kind: memory, path: /tmp/x }", "store.path"), ("telemetry: { serviceName: shop }", "serviceName"),
      ("http: { beyondLoopback: true }", "beyondLoopback"), ("log: { level: error, access: true }", "log.access"),
      ("hardening: { landlock: off, connectPorts: [8443] }", "connectPorts"),
      (
        "resources: { a: { baseUrl: 'http://b.example', auth: none, tls: { pins: ['sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='] } } }\n"
          + "outbound: { plainHTTP: ['http://b.example'] }",
        "resources.a.tls: has no effect: the resource is plain http"
      ),
      (
        "resources: { a: { baseUrl: 'http://b.example', auth: none, http2: true } }\n"
          + "outbound: { plainHTTP: ['http://b.example'] }", "resources.a.http2: has no effect"
      ),
      (
        "preauthorization: { a: { kind: access-manager, baseUrl: 'https://b.example', subjectType: x, "
          + "credentials: { ssoToken: t } } }", "subjectType"
      ),
    ])
  func idleBounds(yaml: String, key: String) {
    let fixture = Fixture(yaml)
    #expect(fixture.problems.filter { !$0.contains("credentials") } == [])
    #expect(fixture.warnings.contains { $0.contains(key) }, "\(fixture.warnings)")
  }

  @Test(
    "A rule for callers that an earlier one matches is not noticed, or another one is",
    arguments: [
      ("{ uid: 1, methods: [] }, { gid: 2, uid: 1, methods: ['*'] }", true),
      ("{ gid: 2, methods: [] }, { gid: 2, methods: ['*'] }", true),
      ("{ uid: 1, gid: 2, methods: [] }, { uid: 1, methods: ['*'] }", false),
      ("{ uid: 1, methods: [] }, { gid: 1, methods: ['*'] }", false),
    ])
  func shadowedRules(rules: String, isShadowed: Bool) {
    let fixture = Fixture("peers: [\(rules)]")
    #expect(fixture.problems == [])
    #expect(fixture.warnings.contains { $0.contains("peers[1]: never decides: peers[0] matches") } == isShadowed)
  }

  @Test("A resource without issuer and without auth is a problem, since auth: user is the default")
  func defaultAuth() {
    #expect(
      Self.problems("resources: { a: { baseUrl: \"https://b.example\" } }") == [
        "resources.a.auth: auth: user needs an issuer"
      ])
  }

  @Test("Device tokens for a public client warn")
  func publicDevice() {
    let yaml = """
      issuers: { corp: { issuer: "https://a.example", clientId: shop } }
      resources: { a: { baseUrl: "https://b.example", issuer: corp, auth: clientCredentials } }
      """
    #expect(Fixture(yaml).problems == [])
    #expect(Fixture(yaml).warnings.count == 1)
  }

  @Test("An assertion of a client that authenticates in another way warns")
  func unusedAssertion() {
    func warnings(_ method: String) -> [String] {
      Fixture(
        """
        issuers: { c: { issuer: "https://a.example", clientId: a, \(method), clientAssertion: { file: /t } } }
        """
      ).warnings.filter { $0.contains("clientAssertion") }
    }
    #expect(warnings("clientAuth: client_secret_basic, clientSecretFile: /s").count == 1)
    #expect(warnings("clientAuth: none").count == 1)
    #expect(warnings("clientAuth: client_assertion") == [])
  }

  @Test(
    "What an issuer's client authentication demands",
    arguments: [
      ("clientId: a", []),
      ("clientId: a, clientSecretFile: /s", []),
      ("clientId: a, clientAuth: none", []),
      ("clientId: a, clientAuth: client_secret_post, clientSecretEnv: HOME", []),
      (
        "clientId: a, clientAuth: client_secret_basic",
        ["issuers.c.clientAuth: client_secret_basic needs clientSecretFile"]
      ),
      (
        "clientId: a, clientAuth: client_secret_post",
        ["issuers.c.clientAuth: client_secret_post needs clientSecretFile"]
      ),
      ("clientId: a, clientAuth: private_key_jwt", ["issuers.c.clientAuth: private_key_jwt needs clientKeyFile"]),
      ("clientId: a, clientAuth: private_key_jwt, clientKeyFile: /k", []),
      (
        "clientId: a, clientAuth: tls_client_auth, clientKeyFile: /k",
        ["issuers.c.clientAuth: tls_client_auth needs clientCertificateFile"]
      ),
      ("clientId: a, clientAuth: tls_client_auth, clientKeyFile: /k, clientCertificateFile: /c", []),
      (
        "clientAuth: client_secret_basic, clientSecretFile: /s",
        ["issuers.c.clientAuth: client_secret_basic needs clientId"]
      ),
      (
        "clientId: a, clientAuth: client_secret_jwt",
        ["issuers.c.clientAuth: client_secret_jwt needs clientSecretFile"]
      ),
      (
        "clientId: a, clientAuth: client_secret_jwt, clientSecretFile: /s",
        ["issuers.c.clientAuth: client_secret_jwt needs a client secret of at least 32 bytes, this one has 12"]
      ),
      (
        "clientId: a, clientAuth: self_signed_tls_client_auth, clientKeyFile: /k",
        ["issuers.c.clientAuth: self_signed_tls_client_auth needs clientCertificateFile"]
      ),
      ("clientId: a, clientAuth: client_assertion", ["issuers.c.clientAuth: client_assertion needs clientAssertion"]),
      ("clientId: a, clientAuth: client_assertion, clientAssertion: { file: /missing }", []),
      (
        "clientId: a, clientAuth: client_assertion, clientAssertion: { file: /t, type: saml }",
        ["issuers.c.clientAssertion.type: must be jwt-bearer, jwt-spiffe or a URN"]
      ),
      (
        "clientId: a, clientSecretFile: /s, fallbackCredentials: [{ clientSecretFile: /k }, { clientAuth: private_key_jwt, clientKeyFile: /k }]",
        []
      ),
      (
        "clientId: a, clientSecretFile: /s, fallbackCredentials: [{ clientKeyFile: /k }, { clientAuth: none }, { clientAuth: tls_client_auth }]",
        [
          "issuers.c.fallbackCredentials[0]: client_secret_basic needs clientSecretFile",
          "issuers.c.fallbackCredentials[1]: none is no credential: give clientAuth and what it needs",
          "issuers.c.fallbackCredentials[2]: tls_client_auth needs clientKeyFile",
        ]
      ),
      (
        "clientId: a, fallbackCredentials: [{ clientAuth: client_secret_basic, clientSecretFile: /s }]",
        ["issuers.c.fallbackCredentials: a client without a credential of its own has no fallback"]
      ),
      (
        "clientId: a, clientAuth: client-secret-basic",
        [
          "issuers.c.clientAuth: must be one of client_secret_basic, client_secret_post, client_secret_jwt, private_key_jwt, tls_client_auth, self_signed_tls_client_auth, client_assertion, none; did you mean client_secret_basic?"
        ]
      ),
      ("idToken: { algorithms: [none] }", ["issuers.c.idToken.algorithms[0]: unsigned tokens are never accepted"]),
      ("idToken: { algorithms: [] }", ["issuers.c.idToken.algorithms: no token could be valid: name an algorithm"]),
      ("idToken: { algorithms: [HS256] }", ["issuers.c.idToken: HS256 needs a client secret: it is the key"]),
      ("clientId: a, clientSecretFile: /s, idToken: { algorithms: [HS256] }", []),
      ("idToken: { clockSkew: 6m }", ["issuers.c.idToken.clockSkew: out of range: must be 0s to 5m"]),
      (
        "idToken: { encryption: { required: true } }",
        ["issuers.c.idToken.encryption.required: encryption cannot be required without keyFiles"]
      ),
      ("jwks: { minTtl: 2h, maxTtl: 1h }", ["issuers.c.jwks.minTtl: minTtl is longer than maxTtl"]),
      ("clientId: a, implicit:", ["issuers.c.implicit: grant is missing"]),
      ("accessManager: { realm: alpha }", ["issuers.c.accessManager: baseUrl is missing"]),
      (
        "accessManager: { baseUrl: \"https://am.example/am\", realm: ../x }",
        [
          "issuers.c.accessManager.realm: must be a realm's name such as alpha, or names separated by /"
        ]
      ),
      (
        "tls: { pins: [\"sha256/short=\"] }",
        [
          "issuers.c.tls.pins[0]: must be sha256/ and the base64 of 32 bytes, 44 characters with one = at the end"
        ]
      ),
      (
        "tls: { pins: [\"sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\"] }",
        [
          "issuers.c.tls.pins[0]: must be sha256/ and the base64 of 32 bytes, 44 characters with one = at the end"
        ]
      ),
    ] as [(String, [String])])
  func issuers(keys: String, problems: [String]) {
    var fixture = Fixture("issuers: { c: { issuer: \"https://a.example\", \(keys) } }")
    fixture.hasAllFiles = true
    fixture.environment = ["HOME": "/root"]
    #expect(fixture.problems.map { String($0.drop { $0 != " " }.dropFirst()) } == problems)
  }

  @Test("An issuer that was begun and has nothing is missing its identifier")
  func emptyIssuer() {
    #expect(
      Fixture("issuers:\n  corp:\n").problems.map { $0.drop { $0 != " " }.dropFirst() } == [
        "issuers.corp: issuer is missing"
      ])
  }

  @Test(
    "What a peer rule must say",
    arguments: [
      ("{ uid: 0, methods: [] }", []),
      ("{ gid: 0, methods: [getInfo, \"$/cancelRequest\", rpc.discover, \"*\"] }", []),
      ("{ uid: 1, gid: 2, methods: [\"*\"], resources: [a, \"*\"] }", []),
      ("{ methods: [\"*\"] }", ["peers[0]: a rule needs uid, gid or group"]),
      ("{ group: app, methods: [] }", []),
      ("{ group: 3000, methods: [] }", []),
      ("{ group: gone, methods: [] }", ["peers[0].group: there is no group gone on this machine"]),
      ("{ gid: 3000, group: app, methods: [] }", ["peers[0].group: give only one of gid, group"]),
      ("{ uid: 1 }", ["peers[0]: methods is missing"]),
      ("{ uid: -1, methods: [] }", ["peers[0].uid: must be a whole number from 0 to 4294967294"]),
      ("{ uid: 4294967295, methods: [] }", ["peers[0].uid: out of range: must be a whole number from 0 to 4294967294"]),
      ("{ uid: root, methods: [] }", ["peers[0].uid: must be a whole number from 0 to 4294967294"]),
      (
        "{ uid: 1, methods: [\"fetch*\"] }",
        ["peers[0].methods[0]: must be the name of a method, such as fetchResource, or \"*\""]
      ),
      ("{ uid: 1, methods: [], resources: [b] }", ["peers[0].resources[0]: there is no resource b; did you mean a?"]),
    ] as [(String, [String])])
  func peers(rule: String, problems: [String]) {
    #expect(
      Self.problems("resources: { a: { baseUrl: \"https://b.example\", auth: none } }\npeers: [\(rule)]") == problems)
  }

  @Test(
    "What a decision point must have",
    arguments: [
      ("kind: authzen", []),
      ("kind: authzen, issuer: corp", []),
      ("kind: authzen, issuer: gone", ["preauthorization.p.issuer: there is no issuer gone"]),
      (
        "kind: authzen, credentials: { bearer: clientCredentials }",
        ["preauthorization.p.credentials.bearer: bearer: clientCredentials needs an issuer the token comes from"]
      ),
      ("kind: authzen, credentials: { bearer: none, tokenFile: /t }", []),
      (
        "kind: authzen, issuer: corp, credentials: { bearer: user, tokenFile: /t }",
        ["preauthorization.p.credentials.bearer: give either bearer or tokenFile"]
      ),
      ("kind: opa", ["preauthorization.p.kind: kind: opa needs path"]),
      ("kind: opa, path: a/b", []),
      ("kind: opa, path: ../b", ["preauthorization.p.path: must be names separated by /, as in pass/decisions"]),
      (
        "kind: access-manager",
        [
          "preauthorization.p.kind: kind: access-manager needs credentials: ssoTokenFile, or usernameFile and passwordFile"
        ]
      ),
      (
        "kind: access-manager, credentials: { usernameFile: /u }",
        ["preauthorization.p.credentials: usernameFile and passwordFile belong together"]
      ),
      ("kind: access-manager, credentials: { ssoTokenFile: /t }", []),
      ("kind: adobe-pass, serviceProvider: a, mvpd: b, softwareStatementFile: /s, deviceIdFile: /d", []),
      (
        "kind: adobe-pass, serviceProvider: a, mvpd: b",
        [
          "preauthorization.p.kind: kind: adobe-pass needs softwareStatementFile",
          "preauthorization.p.kind: kind: adobe-pass needs deviceIdFile",
        ]
      ),
      (
        "kind: authzen, rateLimit: { perSecond: 0, burst: 1 }",
        ["preauthorization.p.rateLimit.perSecond: out of range: must be above 0 and at most 100000"]
      ),
      (
        "kind: authzen, rateLimit: { perSecond: nan, burst: 1 }",
        ["preauthorization.p.rateLimit.perSecond: must be a number such as 1 or 0.5"]
      ),
      ("kind: authzen, rateLimit: { perSecond: 0.5 }", []),
      ("", ["preauthorization.p: kind is missing"]),
    ] as [(String, [String])])
  func decisionPoints(keys: String, problems: [String]) {
    #expect(Self.problems("preauthorization: { p: { baseUrl: \"https://b.example\", \(keys) } }") == problems)
  }

  @Test("Keys of another kind of decision point do nothing, and warn")
  func strangeKeys() {
    let fixture = Fixture("preauthorization: { p: { kind: authzen, baseUrl: \"https://b.example\", path: a } }")
    #expect(fixture.warnings == ["1:77: preauthorization.p.path: path is for kind: opa only and does nothing here"])
  }

  @Test("The default bearer token of a decision point follows its kind")
  func bearer() throws {
    let yaml = """
      \(Self.issuer)
      preauthorization:
        a: { kind: authzen, baseUrl: "https://b.example", issuer: corp }
        b: { kind: opa, baseUrl: "https://b.example", issuer: corp, path: a, credentials: { bearer: none } }
        c: { kind: authzen, baseUrl: "https://b.example", issuer: corp, credentials: { tokenFile: /t } }
      """
    let providers = try Fixture(yaml, files: ["/s": "x", "/t": "x"]).configuration().preauthorization
    #expect(providers["a"]?.credentials.bearer == .clientCredentials)
    #expect(providers["b"]?.credentials.bearer == DecisionCredentials.Bearer.none)
    #expect(providers["c"]?.credentials.bearer == DecisionCredentials.Bearer.none)
  }

  @Test("A Redis store needs a Redis server")
  func redis() {
    #expect(Fixture("store: { kind: redis }").problems == ["1:16: store.kind: kind: redis needs the section redis"])
    #expect(Fixture("store: { kind: redis, redis: {} }").problems == ["1:30: store.redis: url is missing"])
    #expect(
      Fixture("store: { kind: redis, redis: { url: \"redis://cache\" } }").warnings == [
        "1:37: store.redis.url: redis:// to another machine speaks in the clear; use rediss://"
      ])
  }

  @Test("A store without a key of its own warns, a store of another kind does not")
  func storeKey() {
    #expect(Fixture("store: { path: /var/lib/postern }").warnings.count == 1)
    #expect(Fixture("store: { kind: memory }").warnings == [])
    #expect(Fixture("").warnings == [])
  }

  @Test("A group must exist on this machine, by name or by number")
  func group() throws {
    #expect(try Fixture("listen: { group: app }").configuration().listen.group == "app")
    #expect(try Fixture("listen: { group: 3000 }").configuration().listen.group == "3000")
    #expect(
      Fixture("listen: { group: gone }").problems == ["1:18: listen.group: there is no group gone on this machine"])
  }

  @Test("Each development switch warns")
  func development() throws {
    let fixture = Fixture("development: { plainHTTPOnLoopback: true, callerClock: true }")
    #expect(
      fixture.warnings == [
        "1:37: development.plainHTTPOnLoopback: a development switch is on",
        "1:56: development.callerClock: a development switch is on",
      ])
    #expect(try fixture.configuration().development.activeSwitches == ["plainHTTPOnLoopback", "callerClock"])
  }

  @Test(
    "Realms as they are written in paths",
    arguments: [
      (nil, "/realms/root"), ("root", "/realms/root"), ("/", "/realms/root"), ("alpha", "/realms/root/realms/alpha"),
      ("/alpha/beta", "/realms/root/realms/alpha/realms/beta"),
    ])
  func realms(realm: String?, path: String) {
    #expect(AccessManagerConfiguration(baseURL: "https://am.example/am", realm: realm).realmPath == path)
  }

  @Test(
    "A rule about peers lists something that is not there, which would let in less than was meant",
    arguments: [
      ("resources: [biling]", "peers[0].resources[0]: there is no resource biling; did you mean billing?"),
      ("issuers: [crop]", "peers[0].issuers[0]: there is no issuer crop; did you mean corp?"),
      (
        "preauthorization: [flims]",
        "peers[0].preauthorization[0]: there is no decision point flims; did you mean films?"
      ),
      ("methods: [fetchResouce]", "peers[0].methods[0]: there is no method fetchResouce; did you mean fetchResource?"),
      ("methods: [xyzzy]", "peers[0].methods[0]: there is no method xyzzy"),
      ("resources: [\"*\"], issuers: [corp, \"*\"], preauthorization: [films], methods: [getInfo, \"*\"]", nil),
    ] as [(String, String?)])
  func peerLists(lists: String, problem: String?) {
    var fixture = Fixture(
      """
      peers: [ { uid: 1, \(lists.contains("methods") ? lists : "methods: [], \(lists)") } ]
      issuers: { corp: { issuer: "https://idp.example", clientId: c, clientAuth: none } }
      resources: { billing: { baseUrl: "https://a.example/", auth: none } }
      preauthorization: { films: { kind: authzen, baseUrl: "https://pdp.example" } }
      """)
    fixture.methodNames = ["getInfo", "fetchResource"]
    let found = fixture.problems
    #expect(found.count == (problem == nil ? 0 : 1), "\(found)")
    if let problem { #expect(found.first?.hasSuffix(problem) == true, "\(found)") }
  }
}
