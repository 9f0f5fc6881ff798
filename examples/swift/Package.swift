// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "bank",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "postern", path: "../..")
  ],
  targets: [
    .executableTarget(name: "bank", dependencies: [.product(name: "PosternKit", package: "postern")])
  ]
)
