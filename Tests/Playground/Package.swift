// swift-tools-version: 6.2
// The playground and the examples of the documents, in a package of their own: no product of Postern carries them
// (proto-docs/decisions/0021-playground-package.md). `make` builds it into the root package's scratch directory, where
// the modules of both packages are compiled once.

import PackageDescription

let nio = "swift-nio"
let postern = "postern"

let package = Package(
  name: "postern-playground",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "playground", targets: ["PlaygroundCommand"])
  ],
  dependencies: [
    .package(name: postern, path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    // MARK: - Playground: a development upstream

    .target(
      name: "Playground",
      dependencies: [
        .product(name: "JOSE", package: postern),
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "NIOPosix", package: nio),
      ]
    ),
    .executableTarget(
      name: "PlaygroundCommand",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        "Playground",
      ]
    ),
    .testTarget(
      name: "PlaygroundTests",
      dependencies: [
        "Playground",
        "PlaygroundTestSupport",
      ]
    ),

    // MARK: - Examples: the code of the Swift guide, compiled as a program outside of Postern's package would be

    .target(
      name: "PosternExamples",
      dependencies: [
        .product(name: "AuthEngine", package: postern),
        .product(name: "CurlTransport", package: postern),
        .product(name: "PosternKit", package: postern),
        .product(name: "PosternURLLoading", package: postern),
      ]
    ),
    .testTarget(
      name: "PosternExamplesTests",
      dependencies: [
        "Playground",
        "PlaygroundTestSupport",
        "PosternExamples",
      ]
    ),

    // MARK: - Test support: links to the files of the root package's PosternTestSupport, which is no product

    .target(
      name: "PlaygroundTestSupport",
      dependencies: [
        .product(name: "AuthEngine", package: postern)
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)

// The settings of the root package.
for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
  ]
}
