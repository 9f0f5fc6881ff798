/// The example of the configuration contract, key for key, with its gaps (`…`) filled in. Its `pace` and `device` are
/// the former names of `rateLimit` and `clientCredentials`.
enum ContractExample {
  static let pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

  static let yaml = """
    listen:
      path: /run/postern/postern.sock
      mode: "0660"                      # in force before the socket can be connected to; default 0600
      group: app
    peers:                              # first match wins; no match: rejected. Left out: the sidecar's own uid may do everything
      - { uid: 1000, methods: ["*"] }
      - { gid: 3000, methods: [fetchResource, preauthorize, validateIdToken], resources: [billing] }
    limits: { messageBytes: 16MiB, depth: 128, connections: 1024, connectionsPerUid: 256, inFlightPerConnection: 128, batch: 64 }
    tokens: { leaveTheSidecar: false }  # true lets getAccessToken return them
    http: { listen: "127.0.0.1:9464" }  # optional loopback listener: /healthz /readyz /metrics
    store:
      kind: file                        # file (embedded default) | memory | redis
      path: /var/lib/postern
      keyFile: /run/secrets/postern-key # left out: a key is made next to the store, mode 0600, with a warning
      redis: { url: "rediss://cache:6379/0", passwordFile: /run/secrets/redis }
    validation:
      inlineJwks: true                  # callers may pass `jwks`
      jwksOrigins: []                   # origins callers may name in `jwksUrl`; empty: none
    issuers:
      corp:
        issuer: https://idp.example.com # discovery, unless the endpoints are given below
        clientId: shop
        clientAuth: client_secret_basic # client_secret_post | private_key_jwt | tls_client_auth | none
        clientSecretFile: /run/secrets/shop
        clientKeyFile: /run/secrets/shop-key.pem                # PEM, for private_key_jwt; the algorithm follows the key
        clientCertificateFile: /etc/postern/shop.pem        # with clientKeyFile, for tls_client_auth
        redirectUri: https://shop.example.com/callback                  # for the SSO grant and `postern login`
        scope: openid profile offline_access
        idToken: { algorithms: [RS256, ES256], clockSkew: 30s, trustedAudiences: [], requireAzp: false,
                   encryption: { required: false, keyFiles: [], algorithms: [RSA-OAEP-256, ECDH-ES+A256KW] } }
        jwks: { minTtl: 1m, maxTtl: 1d, cooldown: 30s, staleIfError: 1h }
        implicit: { grant: token_exchange, scope: profile:read }   # token_exchange | jwt_bearer | client_credentials
        endpoints: { token: https://idp.example.com/token, authorization: https://idp.example.com/auth, jwks: https://idp.example.com/jwks, introspection: https://idp.example.com/introspect, revocation: https://idp.example.com/revoke, deviceAuthorization: https://idp.example.com/device, endSession: https://idp.example.com/logout }
        accessManager: { baseUrl: https://am.example.com/am, realm: alpha, cookieName: iPlanetDirectoryPro }   # cookieName left out: requested from the server
        tls: { caFile: /etc/postern/ca.pem, pins: ["\(pin)"] }
    resources:
      billing:
        baseUrl: https://api.example.com/billing/
        additionalOrigins: []           # "https://host" or "https://host/prefix/"
        issuer: corp                    # may be left out with auth: none
        auth: user                      # user | implicit | device | none
        scope: billing:read
        audience: https://api.example.com   # RFC 8707 / audience, in the token's cache key
        senderConstraint: none          # none | dpop | mtls
        tls: { pins: ["\(pin)"], pinScope: chain, caFile: /etc/postern/ca.pem, clientCertificateFile: /etc/postern/client.pem, clientKeyFile: /run/secrets/client-key.pem }   # pinScope: leaf | chain
        refreshOn: { status: [401] }     # given: these statuses, whatever the challenge; left out: 401 with a bearer challenge
        advice: { enabled: true, rounds: 3, wait: 180s }
        timeout: 30s
        maxBodyBytes: 16MiB
        payloadEncryption: { algorithm: ECDH-ES+A256KW, encryption: A256GCM, recipientKeyFile: /etc/postern/recipient.pem, decryptionKeyFile: /run/secrets/decryption.pem }
    preauthorization:
      streaming:
        kind: authzen                   # adobe-pass | authzen | opa | access-manager
        baseUrl: https://pdp.example.com
        issuer: corp                    # whose session is the subject, and where the decision point's own token comes from
        resourceType: channel
        action: view
        maxBatch: 50                    # adobe-pass: 5
        timeout: 5s
        attempts: 3
        pace: { perSecond: 1, burst: 10 }   # adobe-pass default; none for the others
        cache: { permit: 60s, deny: 0s }
        credentials: { bearer: device }     # none | device | user, or tokenFile: …; access-manager: ssoTokenFile: … or usernameFile + passwordFile
    log: { level: info, format: json }
    hardening: { debuggerCheck: true, coreDumps: false, landlock: auto, seccomp: auto, lockedMemory: auto, connectPorts: [] }
    development:                        # every switch here warns at start and shows in getInfo
      plainHTTPOnLoopback: false        # http:// upstreams on 127.0.0.0/8 and ::1
      callerClock: false                # `now` in validateIdToken
    """

  /// The keys of the contract's comments: one decision point for each further kind.
  static let otherProviders = """
    preauthorization:
      policies:
        kind: opa
        baseUrl: https://opa.example.com
        path: pass/decisions
        credentials: { tokenFile: /run/secrets/opa }
      realm:
        kind: access-manager
        baseUrl: https://am.example.com/am
        application: iPlanetAMWebAgentService
        credentials: { usernameFile: /run/secrets/user, passwordFile: /run/secrets/password }
      sso:
        kind: access-manager
        baseUrl: https://am.example.com/am
        credentials: { ssoTokenFile: /run/secrets/sso }
      pass:
        kind: adobe-pass
        baseUrl: https://api.auth.example.com
        serviceProvider: REF30
        mvpd: Cablevision
        softwareStatementFile: /run/secrets/statement
        deviceIdFile: /var/lib/postern/device-id
        deviceInfo: { model: Settop, osName: Linux, version: 1.10 }
    """
}
