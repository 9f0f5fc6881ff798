// swift-tools-version: 6.2
// Targets are declared bottom-up: each one after the modules that it depends on, in the layers of
// proto-docs/architecture.md. A test reads `swift package dump-package` and compares order and edges with
// that page and with proto-docs/modules.md.

import PackageDescription

let nio = "swift-nio"

let package = Package(
  name: "postern",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "postern", targets: ["postern"]),
    .library(name: "AuthEngine", targets: ["AuthEngine"]),
    .library(name: "CurlTransport", targets: ["CurlTransport"]),
    .library(name: "JOSE", targets: ["JOSE"]),
    .library(name: "PosternKit", targets: ["PosternKit"]),
    .library(name: "PosternURLLoading", targets: ["PosternURLLoading"]),
    .library(name: "SessionStore", targets: ["SessionStore"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    // MARK: - Layer C: system libraries

    .systemLibrary(name: "CPosternCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CPosternExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "CPosternJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(name: "CPosternOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CPosternSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CPosternYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CPosternZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "CPosternHiredis",
      linkerSettings: [.linkedLibrary("hiredis"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
    ),
    .target(name: "CPosternLinux"),
    .target(name: "CPosternStart"),
    .target(name: "CPosternTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),

    // MARK: - Layer 0: Support

    .target(name: "PosternSupport", dependencies: ["CPosternLinux"]),
    .testTarget(
      name: "PosternSupportTests",
      dependencies: [
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 0: Hardening

    .target(name: "PosternHardening", dependencies: ["CPosternLinux"]),
    .testTarget(
      name: "PosternHardeningTests",
      dependencies: [
        "PosternHardening",
        "PosternTestSupport",
      ]),
    // A program that PosternHardeningTests start: it puts itself into a sandbox and tries what is forbidden there.
    .executableTarget(
      name: "PosternHardeningProbe",
      dependencies: ["CPosternLinux", "PosternHardening"],
      path: "Tests/PosternHardeningProbe"
    ),

    // MARK: - Layer 1: JSON

    .target(name: "PosternJSON", dependencies: ["CPosternJansson", "PosternSupport"]),
    .testTarget(
      name: "PosternJSONTests",
      dependencies: [
        "PosternJSON"
      ]),

    // MARK: - Layer 1: Crypto

    .target(name: "PosternCrypto", dependencies: ["CPosternOpenSSL", "PosternSupport"]),
    .testTarget(
      name: "PosternCryptoTests",
      dependencies: [
        "PosternCrypto",
        "PosternSupport",
      ]),

    // MARK: - Layer 1: EventLoops

    .target(name: "EventLoops", dependencies: ["CPosternLinux", "PosternSupport"]),
    .testTarget(
      name: "EventLoopsTests",
      dependencies: [
        "EventLoops",
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 1: HTTPMessages

    .target(name: "HTTPMessages", dependencies: ["PosternSupport"]),
    .testTarget(
      name: "HTTPMessagesTests",
      dependencies: [
        "HTTPMessages",
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 1: XML

    .target(name: "PosternXML", dependencies: ["CPosternExpat"]),
    .testTarget(
      name: "PosternXMLTests",
      dependencies: [
        "PosternXML"
      ]),

    // MARK: - Layer 1: YAML

    .target(name: "PosternYAML", dependencies: ["CPosternYAML"]),

    // MARK: - Layer 1: ProcessControl, signals and limits of processes

    .target(name: "ProcessControl", dependencies: ["CPosternLinux", "PosternSupport"]),

    // MARK: - Layer 2: Audit

    .target(name: "PosternAudit", dependencies: ["PosternCrypto", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "PosternAuditTests",
      dependencies: [
        "PosternAudit",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 2: CurlTransport

    .target(
      name: "CurlTransport",
      dependencies: ["CPosternCurl", "CPosternLinux", "CPosternTLS", "CPosternZlib", "HTTPMessages", "PosternSupport"]),
    .testTarget(
      name: "CurlTransportTests",
      dependencies: [
        "CurlTransport",
        "HTTPMessages",
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 2: Telemetry

    .target(name: "PosternTelemetry", dependencies: ["HTTPMessages", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "PosternTelemetryTests",
      dependencies: [
        "HTTPMessages",
        "PosternJSON",
        "PosternSupport",
        "PosternTelemetry",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 2: JOSE

    .target(name: "JOSE", dependencies: ["PosternCrypto", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "JOSETests",
      dependencies: [
        "JOSE",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
      ],
      exclude: ["Vectors"]
    ),

    // MARK: - Layer 2: JSONRPC

    .target(name: "PosternJSONRPC", dependencies: ["PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "PosternJSONRPCTests",
      dependencies: [
        "PosternJSON",
        "PosternJSONRPC",
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 2: BodyDescriptors

    .target(name: "BodyDescriptors", dependencies: ["CPosternLinux", "PosternSupport"]),
    .testTarget(
      name: "BodyDescriptorsTests",
      dependencies: [
        "BodyDescriptors",
        "PosternSupport",
        "PosternTestSupport",
      ]),

    // MARK: - Layer 2: SocketServer

    .target(
      name: "SocketServer",
      dependencies: [
        "CPosternLinux",
        "EventLoops",
        .product(name: "NIOCore", package: nio),
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "SocketServerTests",
      dependencies: [
        "PosternSupport",
        "PosternTestSupport",
        "SocketServer",
      ]),

    // MARK: - Layer 2: StatusServer, HTTP for probes and metrics

    .target(
      name: "StatusServer",
      dependencies: [
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "NIOPosix", package: nio),
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "StatusServerTests",
      dependencies: [
        "PosternSupport",
        "PosternTestSupport",
        "StatusServer",
      ]),

    // MARK: - Layer 2: GatewayServer, HTTP for programs that cannot be changed

    .target(
      name: "GatewayServer",
      dependencies: [
        "HTTPMessages",
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "NIOPosix", package: nio),
        "PosternCrypto",
        "PosternSupport",
        "SocketServer",
      ]
    ),
    .testTarget(
      name: "GatewayServerTests",
      dependencies: [
        "GatewayServer",
        "HTTPMessages",
        "PosternSupport",
        "PosternTestSupport",
        "SocketServer",
      ]),

    // MARK: - Layer 2: LoopbackLogin, the end of a login in a browser on this machine

    .target(name: "LoopbackLogin", dependencies: ["HTTPMessages", "PosternSupport"]),

    // MARK: - Layer 3: OAuthClient, requests to identity providers

    .target(
      name: "OAuthClient",
      dependencies: [
        "HTTPMessages",
        "JOSE",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "OAuthClientTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "ResourceAccess",
        "SessionRecords",
        "Sessions",
        "TokenValidation",
      ]
    ),

    // MARK: - Layer 3: KeySets

    .target(
      name: "KeySets",
      dependencies: [
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternJSON",
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "KeySetsTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "JOSE",
        "KeySets",
        "OAuthClient",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
      ]
    ),

    // MARK: - Layer 3: TokenValidation

    .target(
      name: "TokenValidation",
      dependencies: [
        "HTTPMessages",
        "JOSE",
        "KeySets",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "TokenValidationTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "TokenValidation",
      ]
    ),

    // MARK: - Layer 3: SessionRecords

    .target(
      name: "SessionRecords",
      dependencies: [
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
      ]
    ),

    // MARK: - Layer 3: RequestValidation, whether a request may pass an API

    .target(
      name: "RequestValidation",
      dependencies: [
        "HTTPMessages",
        "JOSE",
        "KeySets",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "SessionRecords",
        "TokenValidation",
      ]
    ),
    .testTarget(
      name: "RequestValidationTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "JOSE",
        "KeySets",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "RequestValidation",
        "SessionRecords",
        "TokenValidation",
      ]),

    // MARK: - Layer 3: AccessManagement

    .target(
      name: "AccessManagement",
      dependencies: [
        "HTTPMessages",
        "OAuthClient",
        "PosternJSON",
        "PosternSupport",
        "PosternXML",
      ]
    ),

    // MARK: - Layer 3: Sessions

    .target(
      name: "Sessions",
      dependencies: [
        "AccessManagement",
        "HTTPMessages",
        "JOSE",
        "KeySets",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "SessionRecords",
        "TokenValidation",
      ]
    ),
    .testTarget(
      name: "SessionsTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "SessionRecords",
        "Sessions",
      ]
    ),

    // MARK: - Layer 3: StepUp

    .target(
      name: "StepUp",
      dependencies: [
        "AccessManagement",
        "HTTPMessages",
        "OAuthClient",
        "PosternJSON",
        "PosternSupport",
        "Sessions",
      ]
    ),
    .testTarget(
      name: "StepUpTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "StepUp",
      ]
    ),

    // MARK: - Layer 3: ResourceAccess

    .target(
      name: "OriginLimiting",
      dependencies: [
        "HTTPMessages",
        "OAuthClient",
        "PosternSupport",
      ]
    ),

    .target(
      name: "ResourceAccess",
      dependencies: [
        "AccessManagement",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "OriginLimiting",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "SessionRecords",
        "Sessions",
      ]
    ),
    .testTarget(
      name: "ResourceAccessTests",
      dependencies: [
        "AccessManagement",
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "JOSE",
        "OriginLimiting",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "ResourceAccess",
        "Sessions",
      ]
    ),

    // MARK: - Layer 3: Entitlements

    .target(
      name: "Entitlements",
      dependencies: [
        "AccessManagement",
        "HTTPMessages",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "SessionRecords",
        "Sessions",
        "TokenValidation",
      ]
    ),
    .testTarget(
      name: "EntitlementsTests",
      dependencies: [
        "AdobePass",
        "AuthEngine",
        "EngineTestSupport",
        "Entitlements",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "SDKCompatibility",
        "SessionRecords",
        "Sessions",
      ]
    ),

    // MARK: - Layer 3: AdobePass

    .target(
      name: "AdobePass",
      dependencies: [
        "Entitlements",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "SessionRecords",
      ]
    ),
    .testTarget(
      name: "AdobePassTests",
      dependencies: [
        "AdobePass",
        "AuthEngine",
        "EngineTestSupport",
        "Entitlements",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "SessionRecords",
      ]
    ),

    // MARK: - Layer 3: SDKCompatibility

    .target(
      name: "SDKCompatibility",
      dependencies: [
        "Entitlements",
        "HTTPMessages",
        "KeySets",
        "OAuthClient",
        "PosternJSON",
        "PosternSupport",
        "ResourceAccess",
        "Sessions",
        "TokenValidation",
      ]
    ),
    .testTarget(
      name: "SDKCompatibilityTests",
      dependencies: [
        "AuthEngine",
        "EngineTestSupport",
        "HTTPMessages",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "SDKCompatibility",
      ]
    ),

    // MARK: - Layer 3: AuthEngine, the engine as one module

    .target(
      name: "AuthEngine",
      dependencies: [
        "AccessManagement",
        "AdobePass",
        "Entitlements",
        "HTTPMessages",
        "KeySets",
        "OAuthClient",
        "OriginLimiting",
        "PosternJSON",
        "PosternSupport",
        "RequestValidation",
        "ResourceAccess",
        "SDKCompatibility",
        "SessionRecords",
        "Sessions",
        "StepUp",
        "TokenValidation",
      ]
    ),

    .testTarget(
      name: "AuthEngineTests",
      dependencies: [
        "AccessManagement",
        "AuthEngine",
        "EngineTestSupport",
        "Entitlements",
        "HTTPMessages",
        "JOSE",
        "KeySets",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
        "ResourceAccess",
        "SDKCompatibility",
        "SessionRecords",
        "Sessions",
        "StepUp",
      ]
    ),

    // MARK: - Layer 4: PosternURLLoading, the engine behind Foundation's URLSession; no part of the sidecar

    .target(name: "PosternURLLoading", dependencies: ["AuthEngine", "HTTPMessages", "PosternSupport"]),
    .testTarget(
      name: "PosternURLLoadingTests",
      dependencies: [
        "AuthEngine",
        "Entitlements",
        "HTTPMessages",
        "KeySets",
        "OAuthClient",
        "PosternSupport",
        "PosternTestSupport",
        "PosternURLLoading",
        "ResourceAccess",
        "SessionRecords",
        "Sessions",
        "StepUp",
        "TokenValidation",
      ]
    ),

    // MARK: - Layer 3: Protocol

    .target(name: "PosternProtocol", dependencies: ["PosternJSON", "PosternJSONRPC", "PosternSupport"]),
    .testTarget(
      name: "PosternProtocolTests",
      dependencies: [
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
      ]),

    // MARK: - Layer 4: SessionStore

    .target(
      name: "SessionStore",
      dependencies: ["CPosternHiredis", "CPosternSQLite", "PosternCrypto", "PosternSupport", "SessionRecords"]),
    .testTarget(
      name: "SessionStoreTests",
      dependencies: [
        "CPosternSQLite",
        "PosternCrypto",
        "PosternSupport",
        "PosternTestSupport",
        "SessionRecords",
        "SessionStore",
      ]
    ),

    // MARK: - Layer 4: Configuration

    .target(
      name: "ConfigurationReading",
      dependencies: [
        "PosternJSON",
        "PosternSupport",
        "PosternYAML",
      ]
    ),

    .target(
      name: "PosternConfiguration",
      dependencies: [
        "ConfigurationReading",
        "HTTPMessages",
        "PosternJSON",
        "PosternSupport",
        "PosternYAML",
      ]
    ),
    .testTarget(
      name: "PosternConfigurationTests",
      dependencies: [
        "ConfigurationReading",
        "PosternConfiguration",
        "PosternJSON",
        "PosternSupport",
        "PosternYAML",
      ]),

    // MARK: - Layer 4: EngineConfiguration, the engine's values of a configuration

    .target(
      name: "EngineConfiguration",
      dependencies: [
        "AuthEngine",
        "HTTPMessages",
        "JOSE",
        "PosternConfiguration",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "RequestValidation",
        "SessionStore",
      ]
    ),

    // MARK: - Layer 4: PosternKit, the sidecar's configuration and engine in a program's own process

    .target(
      name: "PosternKit",
      dependencies: [
        "AuthEngine",
        "ConfigurationReading",
        "CurlTransport",
        "EngineConfiguration",
        "HTTPMessages",
        "LoopbackLogin",
        "PosternConfiguration",
        "PosternJSON",
        "PosternSupport",
        "SessionStore",
      ]
    ),
    .testTarget(
      name: "PosternKitTests",
      dependencies: [
        "AuthEngine",
        "CurlTransport",
        "HTTPMessages",
        "PosternJSON",
        "PosternKit",
        "PosternSupport",
        "PosternTestSupport",
      ]
    ),

    // MARK: - Layer 4: SidecarAccess, who calls and how much

    .target(
      name: "SidecarAccess",
      dependencies: [
        "HTTPMessages",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
      ]
    ),

    // MARK: - Layer 4: SidecarObservability, what the process reports about itself

    .target(
      name: "SidecarObservability",
      dependencies: [
        "AuthEngine",
        "HTTPMessages",
        .product(name: "Logging", package: "swift-log"),
        "PosternAudit",
        "PosternConfiguration",
        "PosternCrypto",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTelemetry",
        "SidecarAccess",
      ]
    ),

    // MARK: - Layer 4: SidecarEngine, the engine as the configuration has it

    .target(
      name: "SidecarEngine",
      dependencies: [
        "AuthEngine",
        "EngineConfiguration",
        "HTTPMessages",
        "PosternConfiguration",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "SidecarAccess",
        "SidecarObservability",
      ]
    ),

    // MARK: - Layer 4: SidecarHealth, whether the sidecar can do its work

    .target(
      name: "SidecarHealth",
      dependencies: [
        "AuthEngine",
        "EngineConfiguration",
        .product(name: "Logging", package: "swift-log"),
        "PosternConfiguration",
        "PosternJSON",
        "PosternProtocol",
        "PosternSupport",
        "SidecarAccess",
        "SidecarEngine",
        "SidecarObservability",
      ]
    ),

    // MARK: - Layer 4: SidecarCalls, the call chain

    .target(
      name: "SidecarCalls",
      dependencies: [
        "AuthEngine",
        "EngineConfiguration",
        "HTTPMessages",
        .product(name: "Logging", package: "swift-log"),
        "PosternCrypto",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTelemetry",
        "SidecarAccess",
        "SidecarEngine",
        "SidecarObservability",
      ]
    ),

    // MARK: - Layer 4: ServerExamination, what `postern doctor` looks for at other servers

    .target(
      name: "ServerExamination",
      dependencies: [
        "AuthEngine",
        "EngineConfiguration",
        "HTTPMessages",
        "PosternConfiguration",
        "PosternJSON",
        "PosternSupport",
        "SidecarEngine",
        "SidecarObservability",
      ]
    ),

    // MARK: - Layer 4: SidecarEndpoints, sockets for one child, and explanations of calls

    .target(
      name: "SidecarEndpoints",
      dependencies: [
        "AuthEngine",
        "EngineConfiguration",
        "HTTPMessages",
        "PosternConfiguration",
        "PosternCrypto",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "SidecarAccess",
        "SidecarCalls",
        "SidecarEngine",
        "SidecarObservability",
      ]
    ),
    .testTarget(
      name: "SidecarEndpointsTests",
      dependencies: [
        "AuthEngine",
        "HTTPMessages",
        "PosternConfiguration",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTestSupport",
        "SidecarAccess",
        "SidecarCalls",
        "SidecarEndpoints",
        "SidecarEngine",
      ]
    ),

    // MARK: - Layer 4: Sidecar

    .target(
      name: "Sidecar",
      dependencies: [
        "AuthEngine",
        "BodyDescriptors",
        "EngineConfiguration",
        "HTTPMessages",
        "JOSE",
        .product(name: "Logging", package: "swift-log"),
        "PosternAudit",
        "PosternConfiguration",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTelemetry",
        "RequestValidation",
        "SidecarAccess",
        "SidecarCalls",
        "SidecarEndpoints",
        "SidecarEngine",
        "SidecarHealth",
        "SidecarObservability",
      ]
    ),
    .testTarget(
      name: "SidecarTests",
      dependencies: [
        "AdobePass",
        "AuthEngine",
        "EngineConfiguration",
        "Entitlements",
        "HTTPMessages",
        .product(name: "Logging", package: "swift-log"),
        "PosternAudit",
        "PosternConfiguration",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTestSupport",
        "Sidecar",
        "SidecarAccess",
        "SidecarCalls",
        "SidecarEndpoints",
        "SidecarEngine",
        "SidecarHealth",
        "SidecarObservability",
      ]
    ),

    // MARK: - Layer 4: ForwardAuthentication, what front proxies want to know of a request

    .target(
      name: "ForwardAuthentication",
      dependencies: ["HTTPMessages", "PosternConfiguration", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "ForwardAuthenticationTests",
      dependencies: ["ForwardAuthentication", "HTTPMessages", "PosternConfiguration", "PosternJSON", "PosternSupport"]),

    // MARK: - Layer 4: SidecarGateway, HTTP requests as calls

    .target(
      name: "SidecarGateway",
      dependencies: [
        "AuthEngine",
        "ForwardAuthentication",
        "GatewayServer",
        "HTTPMessages",
        "PosternConfiguration",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "Sidecar",
        "SidecarAccess",
        "SidecarCalls",
        "SidecarEndpoints",
        "SidecarEngine",
        "SidecarObservability",
      ]
    ),
    .testTarget(
      name: "SidecarGatewayTests",
      dependencies: [
        "AuthEngine",
        "GatewayServer",
        "HTTPMessages",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTestSupport",
        "SidecarCalls",
        "SidecarGateway",
      ]),

    // MARK: - Layer 5: postern, the command line

    .executableTarget(
      name: "postern",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        "AuthEngine",
        "CPosternLinux",
        "CPosternStart",
        "ConfigurationReading",
        "CurlTransport",
        "EngineConfiguration",
        "GatewayServer",
        "HTTPMessages",
        .product(name: "Logging", package: "swift-log"),
        "LoopbackLogin",
        "PosternAudit",
        "PosternConfiguration",
        "PosternHardening",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTelemetry",
        "ProcessControl",
        "ServerExamination",
        "SessionStore",
        "Sidecar",
        "SidecarAccess",
        "SidecarEndpoints",
        "SidecarEngine",
        "SidecarGateway",
        "SidecarObservability",
        "SocketServer",
        "StatusServer",
      ]
    ),

    // MARK: - Test support: may import everything, imported by tests only

    .target(
      name: "PosternTestSupport",
      dependencies: ["HTTPMessages", "PosternSupport"],
      path: "Tests/PosternTestSupport"
    ),
    .target(
      name: "EngineTestSupport",
      dependencies: [
        "AuthEngine",
        "HTTPMessages",
        "JOSE",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
      ],
      path: "Tests/EngineTestSupport"
    ),
  ],
  swiftLanguageModes: [.v6]
)

// One loop, so that no target can opt out.
// ExistentialAny SE-0335 · InternalImportsByDefault SE-0409 · MemberImportVisibility SE-0444 ·
// NonisolatedNonsendingByDefault SE-0461 · treatAllWarnings SE-0480
for target in package.targets
where target.type != .system && !["CPosternHiredis", "CPosternLinux", "CPosternTLS"].contains(target.name) {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
  ]
}
