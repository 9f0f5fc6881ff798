// swift-tools-version: 6.2
// A package of its own: libFuzzer brings its own `main`, and its instrumentation must not reach the products.
// `make fuzz` builds and runs it.

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "postern-fuzz",
  dependencies: [
    .package(name: "postern", path: "../..")
  ],
  targets: [
    .target(name: "CLibFuzzer"),
    .target(
      name: "Invariants",
      dependencies: [.product(name: "AuthEngine", package: "postern"), .product(name: "JOSE", package: "postern")],
      swiftSettings: settings
    ),
    .executableTarget(name: "FuzzAdvice", dependencies: ["CLibFuzzer", "Invariants"], swiftSettings: settings),
    .executableTarget(name: "FuzzDecisions", dependencies: ["CLibFuzzer", "Invariants"], swiftSettings: settings),
    .executableTarget(name: "FuzzHeads", dependencies: ["CLibFuzzer", "Wire"], swiftSettings: settings),
    .executableTarget(name: "FuzzKeySets", dependencies: ["CLibFuzzer", "Invariants"], swiftSettings: settings),
    .executableTarget(name: "FuzzMessages", dependencies: ["CLibFuzzer", "Wire"], swiftSettings: settings),
    .executableTarget(name: "FuzzTokens", dependencies: ["CLibFuzzer", "Invariants"], swiftSettings: settings),
    // Its sources are links to what reads the wire: that is internal to modules which are no products.
    .target(
      name: "Wire",
      dependencies: [.product(name: "AuthEngine", package: "postern")],
      swiftSettings: settings
    ),
  ],
  swiftLanguageModes: [.v6]
)
