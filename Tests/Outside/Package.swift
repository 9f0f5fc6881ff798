// swift-tools-version: 6.2
// A program outside of Postern's package, next to a package with other names for the same things: what the first calls
// of proto-docs/swift.md need, and no more.

import PackageDescription

let package = Package(
  name: "outside",
  dependencies: [
    .package(name: "postern", path: "../.."),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
  ],
  targets: [
    .executableTarget(
      name: "outside",
      dependencies: [
        .product(name: "PosternKit", package: "postern"),
        .product(name: "PosternURLLoading", package: "postern"),
        .product(name: "Crypto", package: "swift-crypto"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
