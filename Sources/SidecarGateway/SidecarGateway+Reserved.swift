import GatewayServer
import PosternJSONRPC

extension SidecarGateway {
  /// Answers a request below `/.postern/`; `path` is what follows.
  func reserved(_ path: String, _ request: GatewayRequest, _ response: any GatewayResponse) async {
    await Problem(.invalidParams("The gateway has nothing at this path", path: "/path"), status: 404).send(response)
  }
}
