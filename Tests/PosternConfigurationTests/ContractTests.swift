import AuthEngine
import HTTPMessages
import JOSE
import Logging
import PosternObservability
import PosternSupport
import Testing

@testable import PosternConfiguration

@Suite("The configuration contract")
struct ContractTests {
  private func fixture(_ yaml: String) -> Fixture {
    var fixture = Fixture(yaml)
    fixture.hasAllFiles = true
    return fixture
  }

  @Test("The example of the contract loads, without problems and without warnings")
  func exampleLoads() {
    #expect(fixture(ContractExample.yaml).problems == [])
    #expect(fixture(ContractExample.yaml).warnings == [])
  }

  @Test("Every key of the example arrives where it belongs")
  func exampleValues() throws {
    let configuration = try fixture(ContractExample.yaml).configuration()
    #expect(configuration.listen.path == "/run/postern/postern.sock")
    #expect(configuration.listen.mode == 0o660)
    #expect(configuration.listen.group == "app")
    #expect(
      configuration.peers == [
        PeerRule(uid: 1000, methods: ["*"]),
        PeerRule(gid: 3000, methods: ["fetchResource", "preauthorize", "validateIdToken"], resources: ["billing"]),
      ])
    #expect(configuration.http.listen == "127.0.0.1:9464")
    #expect(configuration.store.key?.value.reveal() == Array("secret of /run/secrets/postern-key\n".utf8))
    #expect(configuration.store.redis?.url == "rediss://cache:6379/0")
    #expect(configuration.store.redis?.password?.value.reveal() == "secret of /run/secrets/redis")

    let issuer = try #require(configuration.issuers["corp"])
    #expect(issuer.issuer == "https://idp.example.com")
    #expect(issuer.clientID == "shop")
    #expect(issuer.clientAuth == .clientSecretBasic)
    #expect(issuer.clientSecret?.value.reveal() == "secret of /run/secrets/shop")
    #expect(issuer.clientSecret?.source == .file("/run/secrets/shop"))
    #expect(issuer.clientKey?.value.reveal() == "secret of /run/secrets/shop-key.pem")
    #expect(issuer.clientCertificateFile == "/etc/postern/shop.pem")
    #expect(issuer.redirectURI == "https://shop.example.com/callback")
    #expect(issuer.scope == "openid profile offline_access")
    #expect(issuer.idToken.algorithms == [.rs256, .es256])
    #expect(issuer.idToken.encryption.algorithms == [.rsaOAEP256, .ecdhESA256KW])
    #expect(issuer.jwks.minTTL == .seconds(60))
    #expect(issuer.jwks.maxTTL == .seconds(86_400))
    #expect(issuer.implicit == ImplicitGrantConfiguration(grant: .tokenExchange, scope: "profile:read"))
    #expect(issuer.endpoints.deviceAuthorization == "https://idp.example.com/device")
    #expect(issuer.accessManager?.realmPath == "/realms/root/realms/alpha")
    #expect(try issuer.tls.pins == KeyPins([ContractExample.pin], scope: .chain))

    let resource = try #require(configuration.resources["billing"])
    #expect(resource.locations.baseURL == "https://api.example.com/billing/")
    #expect(resource.tokens.issuer == "corp")
    #expect(resource.tokens.auth == .user)
    #expect(resource.tokens.scope == "billing:read")
    #expect(resource.tokens.audience == "https://api.example.com")
    #expect(resource.tls.trust.pins?.scope == .chain)
    #expect(resource.tls.clientKey?.value.reveal() == "secret of /run/secrets/client-key.pem")
    #expect(resource.refreshOn == RefreshRule(status: [401]))
    #expect(resource.payloadEncryption?.recipientKeyFile == "/etc/postern/recipient.pem")
    #expect(resource.payloadEncryption?.decryptionKey?.source == .file("/run/secrets/decryption.pem"))

    let provider = try #require(configuration.preauthorization["streaming"])
    #expect(provider.kind == .authzen)
    #expect(provider.requests.maxBatch == 50)
    #expect(provider.requests.rateLimit == RequestRateConfiguration(perSecond: 1, burst: 10))
    #expect(provider.credentials.bearer == .clientCredentials)
  }

  @Test("The keys that the contract names in comments load for each kind of decision point")
  func otherProviders() throws {
    #expect(fixture(ContractExample.otherProviders).warnings == [])
    let providers = try fixture(ContractExample.otherProviders).configuration().preauthorization
    #expect(providers["policies"]?.options.path == "pass/decisions")
    #expect(providers["policies"]?.credentials.token?.value.reveal() == "secret of /run/secrets/opa")
    #expect(providers["realm"]?.credentials.password?.value.reveal() == "secret of /run/secrets/password")
    #expect(providers["sso"]?.credentials.ssoToken?.value.reveal() == "secret of /run/secrets/sso")
    #expect(providers["sso"]?.options.application == "iPlanetAMWebAgentService")
    let pass = try #require(providers["pass"])
    #expect(pass.requests.maxBatch == 5)
    #expect(pass.requests.rateLimit == RequestRateConfiguration(perSecond: 1, burst: 10))
    #expect(pass.adobePass.serviceProvider == "REF30")
    #expect(pass.adobePass.deviceIDFile == "/var/lib/postern/device-id")
    #expect(pass.adobePass.deviceInfo == ["model": "Settop", "osName": "Linux", "version": "1.10"])
  }

  @Test(
    "An empty file, a comment and an empty object all mean the defaults of the contract",
    arguments: ["", "# nothing\n", "{}", "---\n"])
  func defaults(yaml: String) throws {
    let configuration = try Fixture(yaml).configuration()
    #expect(configuration == PosternConfiguration())
    #expect(configuration.listen.path == nil)
    #expect(configuration.listen.mode == 0o600)
    #expect(configuration.peers == nil)
    #expect(configuration.limits.messageBytes == 16 << 20)
    #expect(configuration.limits.jsonValues == 100_000)
    #expect(configuration.limits.depth == 128)
    #expect(configuration.limits.connections == 1024)
    #expect(configuration.limits.connectionsPerUid == 256)
    #expect(configuration.limits.inFlightPerConnection == 128)
    #expect(configuration.limits.batch == 64)
    #expect(configuration.tokens.leaveTheSidecar == false)
    #expect(configuration.http.listen == nil)
    #expect(configuration.store.kind == .file)
    #expect(configuration.store.path == "/var/lib/postern")
    #expect(configuration.validation.inlineJwks)
    #expect(configuration.validation.jwksOrigins == [])
    #expect(configuration.log.level == .info)
    #expect(configuration.log.format == .json)
    #expect(configuration.hardening.debuggerCheck)
    #expect(configuration.hardening.coreDumps == false)
    #expect(configuration.development.activeSwitches == [])
  }

  @Test("Issuers, resources and decision points have the defaults of the contract for keys that are left out")
  func sectionDefaults() throws {
    let configuration = try Fixture(
      """
      issuers: { corp: { issuer: "https://idp.example.com", clientId: shop } }
      resources: { billing: { baseUrl: "https://api.example.com", issuer: corp } }
      preauthorization: { streaming: { kind: authzen, baseUrl: "https://pdp.example.com" } }
      """
    ).configuration()
    let issuer = try #require(configuration.issuers["corp"])
    #expect(issuer.clientAuth == .none)
    #expect(issuer.idToken.algorithms == [.rs256])
    #expect(issuer.idToken.clockSkew == .seconds(30))
    #expect(issuer.idToken.requireAzp == false)
    #expect(issuer.jwks.cooldown == .seconds(30))
    #expect(issuer.jwks.staleIfError == .seconds(3600))
    let resource = try #require(configuration.resources["billing"])
    #expect(resource.tokens.auth == .user)
    #expect(resource.tokens.senderConstraint == .none)
    #expect(resource.tls.trust.pins == nil)
    #expect(resource.refreshOn == nil)
    #expect(resource.advice == AdviceRules(rounds: 3, wait: .seconds(180), inSuccess: false))
    #expect(resource.bounds.timeout == .seconds(30))
    #expect(resource.bounds.maxBodyBytes == 16 << 20)
    #expect(resource.payloadEncryption == nil)
    let provider = try #require(configuration.preauthorization["streaming"])
    #expect(provider.evaluation.resourceType == "channel")
    #expect(provider.evaluation.action == "view")
    #expect(provider.requests.maxBatch == 50)
    #expect(provider.requests.timeout == .seconds(5))
    #expect(provider.requests.attempts == 3)
    #expect(provider.requests.rateLimit == nil)
    #expect(provider.cache.permit == .seconds(60))
    #expect(provider.cache.deny == .zero)
    #expect(provider.credentials.bearer == .none)
  }

  @Test("JSON is YAML: the same configuration in JSON, escapes and all")
  func json() throws {
    let json = #"""
      {
        "listen": {"path": "\/run\/postern.sock", "mode": "0660"},
        "limits": {"depth": 64, "messageBytes": 1048576},
        "tokens": {"leaveTheSidecar": true},
        "resources": {"open": {"baseUrl": "https://api.example.com", "auth": "none", "timeout": "250ms"}}
      }
      """#
    let configuration = try Fixture(json).configuration()
    #expect(configuration.listen.path == "/run/postern.sock")
    #expect(configuration.listen.mode == 0o660)
    #expect(configuration.limits.depth == 64)
    #expect(configuration.limits.messageBytes == 1 << 20)
    #expect(configuration.tokens.leaveTheSidecar)
    #expect(configuration.resources["open"]?.bounds.timeout == .milliseconds(250))
  }
}
