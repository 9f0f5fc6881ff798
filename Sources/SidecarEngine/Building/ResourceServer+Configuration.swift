package import AuthEngine
package import PosternConfiguration
package import PosternProtocol

// One case each: a case that only one side has does not compile, instead of becoming a fetch without a token or with an
// unbound one.

extension ResourceServer.Authentication {
  /// The configuration's `auth`.
  package init(_ configured: ResourceConfiguration.Authentication) {
    self =
      switch configured {
      case .user: .user
      case .implicit: .implicit
      case .clientCredentials: .clientCredentials
      case .none: .none
      }
  }

  /// A call's `auth`.
  package init(_ given: FetchResource.Authentication) {
    self =
      switch given {
      case .user: .user
      case .implicit: .implicit
      case .clientCredentials: .clientCredentials
      case .none: .none
      }
  }
}

extension ResourceServer.SenderConstraint {
  /// The configuration's `senderConstraint`.
  package init(_ configured: ResourceConfiguration.SenderConstraint) {
    self =
      switch configured {
      case .none: .none
      case .dpop: .dpop
      case .mtls: .mtls
      }
  }
}
