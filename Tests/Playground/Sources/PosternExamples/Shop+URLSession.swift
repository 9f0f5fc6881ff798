import Foundation
public import PosternKit
import PosternURLLoading

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension Shop {
  /// A URL session whose requests to a configured resource carry the user's token; nil: no user is logged in.
  public func urlSession(of user: SessionHandle?) throws -> URLSession {
    PosternURLProtocol.resources = [try postern.protectedResource("orders", session: user)]
    let session = try PosternURLProtocol.makeSession()
    return session
  }

  /// The same with the two policies of the mobile SDKs, and their delegate.
  public func urlSession(
    of user: SessionHandle, delegate: any AuthorizationPolicyDelegate & TokenManagementPolicyDelegate
  ) throws -> URLSession {
    let orders = try postern.protectedResource("orders", session: user)
    PosternURLProtocol.resources = [orders]
    PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(
      validatingURL: [orders.server.baseURL], delegate: delegate, allowsPlainHTTPOnLoopback: true)
    PosternURLProtocol.authorizationPolicy = AuthorizationPolicy(
      validatingURL: [orders.server.baseURL], delegate: delegate, allowsPlainHTTPOnLoopback: true)
    return try PosternURLProtocol.makeSession()
  }
}
