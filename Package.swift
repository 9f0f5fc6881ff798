// swift-tools-version: 6.2
// The manifest is the architecture page: one MARK per target, layers bottom-up, arrays alphabetical,
// one dependency per line. A test reads `swift package dump-package` and compares the edges with
// proto-docs/modules.md.

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
    .library(name: "PosternURLLoading", targets: ["PosternURLLoading"]),
    .executable(name: "playground", targets: ["PlaygroundCommand"]),
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
    // What HardeningTests start: it gives itself a sandbox and tries what is forbidden there.
    .executableTarget(name: "PosternHardeningProbe", dependencies: ["CPosternLinux", "PosternHardening"]),

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

    // MARK: - Layer 2: SocketServer

    .target(
      name: "SocketServer",
      dependencies: [
        "CPosternLinux",
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOPosix", package: nio),
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
        "SocketServer",
      ]
    ),
    .testTarget(
      name: "StatusServerTests",
      dependencies: [
        "PosternSupport",
        "PosternTestSupport",
        "StatusServer",
      ]),

    // MARK: - Layer 3: OAuthClient, what the engine asks of identity providers

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

    // MARK: - Layer 3: SessionRecords

    .target(
      name: "SessionRecords",
      dependencies: [
        "PosternJSON",
        "PosternSupport",
      ]
    ),

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

    // MARK: - Layer 3: ResourceAccess

    .target(
      name: "ResourceAccess",
      dependencies: [
        "AccessManagement",
        "HTTPMessages",
        "JOSE",
        "OAuthClient",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "SessionRecords",
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

    // MARK: - Layer 3: SDKCompatibility

    .target(
      name: "SDKCompatibility",
      dependencies: [
        "Entitlements",
        "HTTPMessages",
        "PosternJSON",
        "ResourceAccess",
        "Sessions",
      ]
    ),

    // MARK: - Layer 3: AuthEngine, the engine as one module

    .target(
      name: "AuthEngine",
      dependencies: [
        "AccessManagement",
        "Entitlements",
        "KeySets",
        "OAuthClient",
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
        "TokenValidation",
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
      name: "PosternConfiguration",
      dependencies: [
        "CPosternYAML",
        "PosternJSON",
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "PosternConfigurationTests",
      dependencies: [
        "PosternConfiguration",
        "PosternJSON",
        "PosternSupport",
      ]),

    // MARK: - Layer 4: Sidecar

    .target(
      name: "Sidecar",
      dependencies: [
        "AuthEngine",
        "HTTPMessages",
        "JOSE",
        .product(name: "Logging", package: "swift-log"),
        "PosternAudit",
        "PosternConfiguration",
        "PosternCrypto",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTelemetry",
      ]
    ),
    .testTarget(
      name: "SidecarTests",
      dependencies: [
        "AuthEngine",
        "Entitlements",
        "HTTPMessages",
        .product(name: "Logging", package: "swift-log"),
        "PosternConfiguration",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternProtocol",
        "PosternSupport",
        "PosternTestSupport",
        "Sidecar",
      ]
    ),

    // MARK: - Layer 5: postern, the command line

    .executableTarget(
      name: "postern",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        "AuthEngine",
        "CPosternLinux",
        "CurlTransport",
        "HTTPMessages",
        .product(name: "Logging", package: "swift-log"),
        "PosternAudit",
        "PosternConfiguration",
        "PosternHardening",
        "PosternJSON",
        "PosternJSONRPC",
        "PosternSupport",
        "PosternTelemetry",
        "SessionStore",
        "Sidecar",
        "SocketServer",
        "StatusServer",
      ]
    ),

    // MARK: - Playground: a development upstream; no product depends on it

    .target(
      name: "Playground",
      dependencies: [
        "JOSE",
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "NIOPosix", package: nio),
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
      ],
      exclude: ["README.md"]
    ),
    .executableTarget(
      name: "PlaygroundCommand",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        "Playground",
        "PosternSupport",
      ]
    ),
    .testTarget(
      name: "PlaygroundTests",
      dependencies: [
        "JOSE",
        "Playground",
        "PosternCrypto",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
      ]
    ),

    // MARK: - Examples: what the documentation shows, compiled; no product depends on it

    .target(
      name: "PosternExamples",
      dependencies: [
        "AuthEngine",
        "CurlTransport",
        "HTTPMessages",
        "Playground",
        "PosternJSON",
        "PosternSupport",
        "PosternURLLoading",
      ]
    ),
    .testTarget(
      name: "PosternExamplesTests",
      dependencies: [
        "AuthEngine",
        "HTTPMessages",
        "PosternExamples",
        "PosternJSON",
        "PosternSupport",
        "PosternTestSupport",
      ]
    ),

    // MARK: - Test support: may import everything, imported by tests only

    .target(name: "PosternTestSupport", dependencies: ["HTTPMessages", "PosternSupport"]),
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
