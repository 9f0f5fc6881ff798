public import AuthEngine
import Foundation
import Glibc
import PosternURLLoading

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension ResourceAccess {
  /// A URL session whose requests to the resource server carry the user's token, with refresh and step-up.
  public func urlSession(
    delegate: any AuthorizationPolicyDelegate & TokenManagementPolicyDelegate
  ) throws -> URLSession {
    var server = server
    server.advice = AdviceRules(allowsAuthorization: true)
    var options = FetchOptions(authentication: .user)
    options.session = FetchSession(uid: getuid(), issuer: sessionIssuer, sessions: sessions)
    PosternURLProtocol.resources = [ProtectedResource(server, fetcher: fetcher, options: options)]
    PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(
      validatingURL: [server.baseURL], delegate: delegate, allowsPlainHTTPOnLoopback: true)
    PosternURLProtocol.authorizationPolicy = AuthorizationPolicy(
      validatingURL: [server.baseURL], delegate: delegate, allowsPlainHTTPOnLoopback: true)

    return try PosternURLProtocol.makeSession()
  }
}
