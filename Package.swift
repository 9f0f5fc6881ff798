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

    // MARK: - Layer 0

    .target(name: "PosternSupport", dependencies: ["CPosternLinux"]),
    .testTarget(name: "PosternSupportTests", dependencies: ["PosternSupport", "PosternTestSupport"]),

    // MARK: - Layer 1

    .target(name: "PosternRuntime", dependencies: ["CPosternLinux", "PosternSupport"]),
    .testTarget(name: "PosternRuntimeTests", dependencies: ["PosternRuntime", "PosternSupport", "PosternTestSupport"]),
    // A program that PosternRuntimeTests start: it puts itself into a sandbox and tries what is forbidden there.
    .executableTarget(
      name: "PosternHardeningProbe", dependencies: ["CPosternLinux", "PosternRuntime"],
      path: "Tests/PosternHardeningProbe"),
    .target(name: "PosternJSON", dependencies: ["CPosternJansson", "PosternSupport"]),
    .testTarget(name: "PosternJSONTests", dependencies: ["CPosternJansson", "PosternJSON", "PosternTestSupport"]),
    .target(name: "PosternCrypto", dependencies: ["CPosternOpenSSL", "PosternSupport"]),
    .testTarget(name: "PosternCryptoTests", dependencies: ["PosternCrypto", "PosternSupport"]),
    .target(name: "HTTPMessages", dependencies: ["PosternSupport"]),
    .testTarget(name: "HTTPMessagesTests", dependencies: ["HTTPMessages", "PosternSupport", "PosternTestSupport"]),

    // MARK: - Layer 2

    .target(
      name: "PosternObservability",
      dependencies: [
        "HTTPMessages", "PosternCrypto", "PosternJSON", "PosternSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "PosternObservabilityTests",
      dependencies: ["HTTPMessages", "PosternJSON", "PosternObservability", "PosternSupport", "PosternTestSupport"]),
    .target(
      name: "CurlTransport",
      dependencies: ["CPosternCurl", "CPosternLinux", "CPosternTLS", "CPosternZlib", "HTTPMessages", "PosternSupport"]),
    .testTarget(
      name: "CurlTransportTests",
      dependencies: ["CPosternCurl", "CurlTransport", "HTTPMessages", "PosternSupport", "PosternTestSupport"]),
    .target(name: "JOSE", dependencies: ["PosternCrypto", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "JOSETests",
      dependencies: ["JOSE", "PosternCrypto", "PosternJSON", "PosternSupport", "PosternTestSupport"],
      exclude: ["Vectors"]),
    .target(name: "PosternJSONRPC", dependencies: ["PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "PosternJSONRPCTests",
      dependencies: ["PosternJSON", "PosternJSONRPC", "PosternSupport", "PosternTestSupport"]),
    .target(
      name: "LocalServer",
      dependencies: ["CPosternLinux", "HTTPMessages", "PosternCrypto", "PosternRuntime", "PosternSupport"]),
    .testTarget(
      name: "LocalServerTests",
      dependencies: [
        "HTTPMessages", "LocalServer", "PosternSupport", "PosternTestSupport",
        // The second reader of requests: what the server accepts has to mean the same to it.
        .product(name: "NIOCore", package: nio), .product(name: "NIOEmbedded", package: nio),
        .product(name: "NIOHTTP1", package: nio),
      ]),
    .target(name: "LoopbackLogin", dependencies: ["HTTPMessages", "PosternSupport"]),

    // MARK: - Layer 3

    .target(
      name: "OAuthClient",
      dependencies: ["CPosternExpat", "HTTPMessages", "JOSE", "PosternCrypto", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "OAuthClientTests",
      dependencies: [
        "AuthEngine", "EngineTestSupport", "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON",
        "PosternSupport", "PosternTestSupport", "ResourceAccess", "SessionRecords", "Sessions", "TokenValidation",
      ]),
    .target(name: "SessionRecords", dependencies: ["PosternCrypto", "PosternJSON", "PosternSupport"]),
    .target(
      name: "TokenValidation",
      dependencies: [
        "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON", "PosternSupport", "SessionRecords",
      ]),
    .testTarget(
      name: "TokenValidationTests",
      dependencies: [
        "AuthEngine", "EngineTestSupport", "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON",
        "PosternSupport", "PosternTestSupport", "TokenValidation",
      ]),
    .target(
      name: "Sessions",
      dependencies: [
        "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON", "PosternSupport", "SessionRecords",
        "TokenValidation",
      ]),
    .testTarget(
      name: "SessionsTests",
      dependencies: [
        "AuthEngine", "EngineTestSupport", "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON",
        "PosternSupport", "PosternTestSupport", "SessionRecords", "Sessions",
      ]),
    .target(
      name: "StepUp", dependencies: ["HTTPMessages", "OAuthClient", "PosternJSON", "PosternSupport", "Sessions"]),
    .testTarget(
      name: "StepUpTests",
      dependencies: [
        "AuthEngine", "EngineTestSupport", "HTTPMessages", "PosternJSON", "PosternSupport", "PosternTestSupport",
        "StepUp",
      ]),
    .target(
      name: "ResourceAccess",
      dependencies: [
        "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON", "PosternSupport", "SessionRecords",
        "Sessions",
      ]),
    .testTarget(
      name: "ResourceAccessTests",
      dependencies: [
        "AuthEngine", "EngineTestSupport", "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON",
        "PosternSupport", "PosternTestSupport", "ResourceAccess", "Sessions",
      ]),
    .target(
      name: "Entitlements",
      dependencies: [
        "HTTPMessages", "OAuthClient", "PosternJSON", "PosternSupport", "SessionRecords", "Sessions", "TokenValidation",
      ]),
    .testTarget(
      name: "EntitlementsTests",
      dependencies: [
        "AdobePass", "AuthEngine", "EngineTestSupport", "Entitlements", "HTTPMessages", "JOSE", "OAuthClient",
        "PosternJSON", "PosternSupport", "PosternTestSupport", "SDKCompatibility", "Sessions",
      ]),
    .target(
      name: "AdobePass",
      dependencies: [
        "Entitlements", "HTTPMessages", "JOSE", "OAuthClient", "PosternCrypto", "PosternJSON", "PosternSupport",
        "SessionRecords",
      ]),
    .testTarget(
      name: "AdobePassTests",
      dependencies: [
        "AdobePass", "AuthEngine", "EngineTestSupport", "Entitlements", "HTTPMessages", "OAuthClient", "PosternJSON",
        "PosternSupport", "PosternTestSupport", "SessionRecords",
      ]),
    .target(
      name: "SDKCompatibility",
      dependencies: [
        "Entitlements", "HTTPMessages", "OAuthClient", "PosternJSON", "PosternSupport", "ResourceAccess", "Sessions",
        "TokenValidation",
      ]),
    .testTarget(
      name: "SDKCompatibilityTests",
      dependencies: [
        "AuthEngine", "EngineTestSupport", "HTTPMessages", "PosternJSON", "PosternSupport", "PosternTestSupport",
        "SDKCompatibility",
      ]),
    .target(
      name: "AuthEngine",
      dependencies: [
        "AdobePass", "Entitlements", "HTTPMessages", "OAuthClient", "PosternJSON", "PosternSupport", "ResourceAccess",
        "SDKCompatibility", "SessionRecords", "Sessions", "StepUp", "TokenValidation",
      ]),
    .testTarget(
      name: "AuthEngineTests",
      dependencies: [
        "AdobePass", "AuthEngine", "EngineTestSupport", "Entitlements", "HTTPMessages", "JOSE", "OAuthClient",
        "PosternCrypto", "PosternJSON", "PosternSupport", "PosternTestSupport", "ResourceAccess", "SDKCompatibility",
        "SessionRecords", "Sessions", "StepUp", "TokenValidation",
      ]),

    // MARK: - Layer 4

    .target(
      name: "PosternURLLoading", dependencies: ["AuthEngine", "HTTPMessages", "JOSE", "PosternJSON", "PosternSupport"]),
    .testTarget(
      name: "PosternURLLoadingTests",
      dependencies: [
        "AdobePass", "AuthEngine", "Entitlements", "HTTPMessages", "JOSE", "OAuthClient", "PosternJSON",
        "PosternSupport", "PosternTestSupport", "PosternURLLoading", "ResourceAccess", "SessionRecords", "Sessions",
        "StepUp", "TokenValidation",
      ]),
    .target(
      name: "SessionStore",
      dependencies: ["CPosternHiredis", "CPosternSQLite", "PosternCrypto", "PosternSupport", "SessionRecords"]),
    .testTarget(
      name: "SessionStoreTests",
      dependencies: [
        "CPosternSQLite", "PosternCrypto", "PosternSupport", "PosternTestSupport", "SessionRecords", "SessionStore",
      ]),
    .target(
      name: "PosternProtocol", dependencies: ["AuthEngine", "PosternJSON", "PosternJSONRPC", "PosternSupport"]),
    .testTarget(
      name: "PosternProtocolTests", dependencies: ["AuthEngine", "PosternJSON", "PosternJSONRPC", "PosternProtocol"]),
    .target(
      name: "PosternConfiguration",
      dependencies: [
        "AuthEngine", "CPosternYAML", "HTTPMessages", "JOSE", "PosternCrypto", "PosternJSON", "PosternObservability",
        "PosternSupport", "SessionStore", "TokenValidation", .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "PosternConfigurationTests",
      dependencies: [
        "AuthEngine", "HTTPMessages", "JOSE", "PosternConfiguration", "PosternJSON", "PosternObservability",
        "PosternSupport", "PosternTestSupport", .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "PosternKit",
      dependencies: [
        "AuthEngine", "CurlTransport", "HTTPMessages", "LoopbackLogin", "PosternConfiguration", "PosternJSON",
        "PosternSupport", "SessionStore",
      ]),
    .testTarget(
      name: "PosternKitTests",
      dependencies: [
        "AuthEngine", "CurlTransport", "HTTPMessages", "JOSE", "PosternJSON", "PosternKit", "PosternSupport",
        "PosternTestSupport",
      ]),
    .target(
      name: "Sidecar",
      dependencies: [
        "AuthEngine", "HTTPMessages", "JOSE", "PosternConfiguration", "PosternCrypto", "PosternJSON", "PosternJSONRPC",
        "PosternObservability", "PosternProtocol", "PosternRuntime", "PosternSupport", "TokenValidation",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "SidecarTests",
      dependencies: [
        "AdobePass", "AuthEngine", "Entitlements", "HTTPMessages", "JOSE", "OAuthClient", "PosternConfiguration",
        "PosternJSON", "PosternJSONRPC", "PosternObservability", "PosternProtocol", "PosternSupport",
        "PosternTestSupport", "ResourceAccess", "Sessions", "Sidecar", "StepUp",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "SidecarGateway",
      dependencies: [
        "AuthEngine", "HTTPMessages", "LocalServer", "PosternConfiguration", "PosternJSON", "PosternJSONRPC",
        "PosternProtocol", "PosternSupport", "Sidecar",
      ]),
    .testTarget(
      name: "SidecarGatewayTests",
      dependencies: [
        "AuthEngine", "HTTPMessages", "LocalServer", "PosternConfiguration", "PosternJSON", "PosternJSONRPC",
        "PosternProtocol", "PosternSupport", "PosternTestSupport", "Sidecar", "SidecarGateway",
      ]),

    // MARK: - Layer 5

    .executableTarget(
      name: "postern",
      dependencies: [
        "AuthEngine", "CPosternLinux", "CPosternStart", "CurlTransport", "HTTPMessages", "LocalServer", "LoopbackLogin",
        "PosternConfiguration", "PosternJSON", "PosternJSONRPC", "PosternObservability", "PosternProtocol",
        "PosternRuntime", "PosternSupport", "Sidecar", "SidecarGateway",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),

    // MARK: - Test support: may import everything, imported by tests only

    .target(
      name: "PosternTestSupport", dependencies: ["HTTPMessages", "PosternSupport"], path: "Tests/PosternTestSupport"),
    .target(
      name: "EngineTestSupport",
      dependencies: [
        "AuthEngine", "HTTPMessages", "JOSE", "PosternCrypto", "PosternJSON", "PosternSupport", "PosternTestSupport",
      ], path: "Tests/EngineTestSupport"),
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
