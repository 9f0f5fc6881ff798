// swift-tools-version: 6.2
// The Swift engine as the token benchmark calls it, in a package of its own so that no product of Postern carries it.

import PackageDescription

let package = Package(
  name: "postern-benchmark-engine",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "postern", path: "../../..")],
  targets: [
    .executableTarget(
      name: "check_tokens_engine",
      dependencies: [.product(name: "AuthEngine", package: "postern"), .product(name: "JOSE", package: "postern")],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
      ]
    )
  ],
  swiftLanguageModes: [.v6]
)
