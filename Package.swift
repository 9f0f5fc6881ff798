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

    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "CHiredis",
      linkerSettings: [.linkedLibrary("hiredis"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
    ),
    .target(name: "CLinux"),
    .target(name: "CTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),

    // MARK: - Layer 0: Support

    .target(name: "Support", dependencies: ["CLinux"]),
    .testTarget(name: "SupportTests", dependencies: ["Support", "TestSupport"]),

    // MARK: - Layer 0: Hardening

    .target(name: "Hardening", dependencies: ["CLinux"]),
    .testTarget(name: "HardeningTests", dependencies: ["Hardening", "TestSupport"]),
    // What HardeningTests start: it gives itself a sandbox and tries what is forbidden there.
    .executableTarget(name: "HardeningProbe", dependencies: ["CLinux", "Hardening"]),

    // MARK: - Layer 1: JSON

    .target(name: "JSON", dependencies: ["CJansson", "Support"]),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),

    // MARK: - Layer 1: Crypto

    .target(name: "Crypto", dependencies: ["COpenSSL", "Support"]),
    .testTarget(name: "CryptoTests", dependencies: ["Crypto", "TestSupport"]),

    // MARK: - Layer 1: HTTPMessages

    .target(name: "HTTPMessages", dependencies: ["Support"]),
    .testTarget(name: "HTTPMessagesTests", dependencies: ["HTTPMessages", "TestSupport"]),

    // MARK: - Layer 1: XML

    .target(name: "XML", dependencies: ["CExpat"]),
    .testTarget(name: "XMLTests", dependencies: ["XML"]),

    // MARK: - Layer 2: Audit

    .target(name: "Audit", dependencies: ["Crypto", "JSON", "Support"]),
    .testTarget(name: "AuditTests", dependencies: ["Audit", "JSON", "Support", "TestSupport"]),

    // MARK: - Layer 2: CurlTransport

    .target(name: "CurlTransport", dependencies: ["CCurl", "CLinux", "CTLS", "CZlib", "HTTPMessages", "Support"]),
    .testTarget(name: "CurlTransportTests", dependencies: ["CurlTransport", "HTTPMessages", "Support", "TestSupport"]),

    // MARK: - Layer 2: Telemetry

    .target(name: "Telemetry", dependencies: ["HTTPMessages", "JSON", "Support"]),
    .testTarget(name: "TelemetryTests", dependencies: ["HTTPMessages", "JSON", "Support", "Telemetry", "TestSupport"]),

    // MARK: - Layer 2: JOSE

    .target(name: "JOSE", dependencies: ["Crypto", "JSON", "Support"]),
    .testTarget(
      name: "JOSETests",
      dependencies: ["Crypto", "JOSE", "JSON", "Support", "TestSupport"],
      exclude: ["Vectors"]
    ),

    // MARK: - Layer 2: JSONRPC

    .target(name: "JSONRPC", dependencies: ["JSON", "Support"]),
    .testTarget(name: "JSONRPCTests", dependencies: ["JSON", "JSONRPC", "Support", "TestSupport"]),

    // MARK: - Layer 2: SocketServer

    .target(
      name: "SocketServer",
      dependencies: [
        "CLinux",
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOPosix", package: nio),
        "Support",
      ]
    ),
    .testTarget(name: "SocketServerTests", dependencies: ["SocketServer", "Support", "TestSupport"]),

    // MARK: - Layer 2: StatusServer, HTTP for probes and metrics

    .target(
      name: "StatusServer",
      dependencies: [
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "NIOPosix", package: nio),
        "SocketServer",
        "Support",
      ]
    ),
    .testTarget(name: "StatusServerTests", dependencies: ["StatusServer", "Support", "TestSupport"]),

    // MARK: - Layer 3: AuthEngine

    .target(name: "AuthEngine", dependencies: ["Crypto", "HTTPMessages", "JOSE", "JSON", "Support", "XML"]),
    .testTarget(
      name: "AuthEngineTests",
      dependencies: ["AuthEngine", "Crypto", "HTTPMessages", "JOSE", "JSON", "Support", "TestSupport"]
    ),

    // MARK: - Layer 4: PosternURLLoading, the engine behind Foundation's URLSession; no part of the sidecar

    .target(name: "PosternURLLoading", dependencies: ["AuthEngine", "HTTPMessages", "Support"]),
    .testTarget(
      name: "PosternURLLoadingTests",
      dependencies: ["AuthEngine", "HTTPMessages", "PosternURLLoading", "Support", "TestSupport"]
    ),

    // MARK: - Layer 3: Protocol

    .target(name: "Protocol", dependencies: ["JSON", "JSONRPC", "Support"]),
    .testTarget(name: "ProtocolTests", dependencies: ["JSON", "JSONRPC", "Protocol", "TestSupport"]),

    // MARK: - Layer 4: SessionStore

    .target(name: "SessionStore", dependencies: ["AuthEngine", "CHiredis", "CSQLite", "Crypto", "Support"]),
    .testTarget(
      name: "SessionStoreTests",
      dependencies: ["AuthEngine", "Crypto", "CSQLite", "SessionStore", "Support", "TestSupport"]
    ),

    // MARK: - Layer 4: Configuration

    .target(
      name: "Configuration",
      dependencies: [
        "CYAML",
        "JSON",
        "Support",
      ]
    ),
    .testTarget(name: "ConfigurationTests", dependencies: ["Configuration", "JSON", "Support", "TestSupport"]),

    // MARK: - Layer 4: Sidecar

    .target(
      name: "Sidecar",
      dependencies: [
        "Audit",
        "AuthEngine",
        "Configuration",
        "Crypto",
        "HTTPMessages",
        "JOSE",
        "JSON",
        "JSONRPC",
        .product(name: "Logging", package: "swift-log"),
        "Protocol",
        "Support",
        "Telemetry",
      ]
    ),
    .testTarget(
      name: "SidecarTests",
      dependencies: [
        "Audit",
        "AuthEngine",
        "Configuration",
        "HTTPMessages",
        "JOSE",
        "JSON",
        "JSONRPC",
        .product(name: "Logging", package: "swift-log"),
        "Protocol",
        "Sidecar",
        "Support",
        "TestSupport",
      ]
    ),

    // MARK: - Layer 5: postern, the command line

    .executableTarget(
      name: "postern",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        "Audit",
        "AuthEngine",
        "CLinux",
        "Configuration",
        "CurlTransport",
        "Hardening",
        "HTTPMessages",
        "JSON",
        "JSONRPC",
        .product(name: "Logging", package: "swift-log"),
        "SessionStore",
        "Sidecar",
        "SocketServer",
        "StatusServer",
        "Support",
        "Telemetry",
      ]
    ),

    // MARK: - Playground: a development upstream; no product depends on it

    .target(
      name: "Playground",
      dependencies: [
        "Crypto",
        "JOSE",
        "JSON",
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "NIOPosix", package: nio),
        "Support",
      ],
      exclude: ["README.md"]
    ),
    .executableTarget(
      name: "PlaygroundCommand",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        "Playground",
        "Support",
      ]
    ),
    .testTarget(
      name: "PlaygroundTests",
      dependencies: ["Crypto", "JOSE", "JSON", "Playground", "Support", "TestSupport"]
    ),

    // MARK: - Examples: what the documentation shows, compiled; no product depends on it

    .target(
      name: "Examples",
      dependencies: [
        "AuthEngine",
        "CurlTransport",
        "HTTPMessages",
        "JSON",
        "Playground",
        "PosternURLLoading",
        "Support",
      ]
    ),
    .testTarget(
      name: "ExamplesTests",
      dependencies: ["AuthEngine", "Examples", "HTTPMessages", "JSON", "Support", "TestSupport"]
    ),

    // MARK: - Test support: may import everything, imported by tests only

    .target(name: "TestSupport", dependencies: ["HTTPMessages", "Support"]),
  ],
  swiftLanguageModes: [.v6]
)

// One loop, so that no target can opt out.
// ExistentialAny SE-0335 · InternalImportsByDefault SE-0409 · MemberImportVisibility SE-0444 ·
// NonisolatedNonsendingByDefault SE-0461 · treatAllWarnings SE-0480
for target in package.targets where target.type != .system && !["CHiredis", "CLinux", "CTLS"].contains(target.name) {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
  ]
}
