import ArgumentParser
import PosternConfiguration
import PosternJSON
import PosternObservability
import Sidecar

/// `postern configuration`: what can be configured.
struct PrintConfiguration: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "configuration", abstract: "Prints an annotated example of the configuration, or its JSON Schema.")

  /// The document to print.
  enum Form: String, EnumerableFlag {
    case example, schema

    static func help(for value: Form) -> ArgumentHelp? {
      switch value {
      case .example: "An annotated example in YAML (default)."
      case .schema: "The JSON Schema (draft 2020-12)."
      }
    }
  }

  @Flag var form = Form.example

  func run() {
    switch form {
    case .example: print(ConfigurationSchema.annotatedExample(), terminator: "")
    case .schema: print(JSONWriter(pretty: true).string(ConfigurationSchema.jsonSchema()))
    }
  }
}

/// `postern openrpc`.
struct PrintOpenRPC: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "openrpc", abstract: "Prints the OpenRPC document, as rpc.discover returns it.")

  func run() {
    print(JSONWriter(pretty: true).string(Product.openRPCDocument))
  }
}

/// `postern openapi`.
struct PrintOpenAPI: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "openapi", abstract: "Prints the OpenAPI document of /rpc and the gateway, for generators of clients.")

  func run() {
    print(JSONWriter(pretty: true).string(Product.openAPIDocument))
  }
}
