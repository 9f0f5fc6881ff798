package import AuthEngine
import PosternObservability

extension UpstreamExchange.Purpose {
  /// The name in metrics, logs and spans.
  package var kind: String {
    switch self {
    case .resource: "resource"
    case .token: "token"
    case .discovery: "discovery"
    case .keySet: "key_set"
    case .introspection: "introspection"
    case .decision: "decision"
    }
  }

  /// The key of `name` in the log.
  var key: LogKey {
    switch self {
    case .resource: .resource
    case .token, .discovery, .introspection: .issuer
    case .keySet: .source
    case .decision: .provider
    }
  }

  /// The configured name, or the origin that a caller named.
  package var name: String {
    switch self {
    case .resource(let name), .token(let name), .discovery(let name), .keySet(let name), .introspection(let name),
      .decision(let name):
      name
    }
  }
}
