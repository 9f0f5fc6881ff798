import ArgumentParser
import PosternJSON
import SidecarObservability

/// `postern openrpc`.
struct PrintOpenRPC: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "openrpc", abstract: "Prints the OpenRPC document, as rpc.discover returns it.")

  func run() {
    print(JSONWriter(pretty: true).string(Product.openRPCDocument))
  }
}
