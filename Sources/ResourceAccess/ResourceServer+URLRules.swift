public import HTTPMessages
package import OAuthClient
import PosternSupport

extension ResourceServer {
  /// The URL that a call's `path` means; throws `invalid_url` or `origin_not_allowed`.
  ///
  /// A path without a scheme is put behind `baseURL`, with or without a leading slash, and must not lead out of it; one
  /// with a scheme is an absolute URL that must lie under `baseURL` or an additional origin. What begins with two
  /// slashes is refused: some would read a host there. A first segment with a colon needs a slash before it (RFC 3986
  /// section 4.2).
  public func url(forPath path: String) throws(ResourceError) -> HTTPURL {
    let isAbsolute = HTTPURL.hasScheme(path)
    guard !path.utf8.starts(with: "//".utf8) else { throw Self.invalid("must not begin with two slashes") }
    let url: HTTPURL
    do throws(HTTPURLError) {
      url = isAbsolute ? try HTTPURL(path) : try baseURL.appending(relativePath: path)
    } catch {
      throw Self.invalid(error.phrase)
    }
    // Of a metadata service the origin is what is wrong, though it has only plain http.
    let isSecure = access.plainHTTP.permits(url)
    guard isSecure || url.origin.isMetadataService else {
      throw Self.invalid("must be https (plain http only where the configuration allows it)")
    }
    guard isAbsolute || url.lies(under: baseURL) else {
      throw Self.invalid("leads out of the resource's base URL")
    }
    if let fault = PathInspection.fault(in: url.path) { throw Self.invalid(fault) }
    // What `covers` looks at beyond the path. A relative path lies under the base URL by now.
    guard isSecure, !isAbsolute || coverage.names(url) else {
      throw ResourceError(
        .originNotAllowed, "the URL lies neither under the resource's base URL nor under an additional origin",
        path: ["path"])
    }
    return url
  }

  /// Whether requests may go to `url`: under `baseURL` or an additional origin, secure, and without a path that another
  /// server could read differently. It applies to redirects, too.
  public func covers(_ url: HTTPURL) -> Bool { coverage.covers(url) }

  /// The policy by which requests to this server carry tokens.
  func tokenPolicy(_ delegate: (any TokenManagementPolicyDelegate)? = nil) -> TokenManagementPolicy {
    delegate.map(prepared.tokenPolicy.asking) ?? prepared.tokenPolicy
  }

  private static func invalid(_ fault: String) -> ResourceError {
    ResourceError(.invalidURL, "the path \(fault)", path: ["path"])
  }
}

extension ResourceServer {
  /// The server as a fetch with `options` uses it: with the authentication that the options choose.
  package func applying(_ options: FetchOptions) -> ResourceServer {
    guard let chosen = options.authentication, chosen != authentication else { return self }
    var server = self
    server.authentication = chosen
    return server
  }

  /// `url`, of a request with this server's authentication, as results and reports show it: the credential in its query
  /// is masked.
  func shown(_ url: HTTPURL, afterRedirect: Bool = false) -> HTTPURL {
    authentication == .credential ? credential?.shown(url, afterRedirect: afterRedirect) ?? url : url
  }

  /// The grant for tokens on behalf of users; nil without an issuer, or where none are exchanged.
  package var exchangeGrant: ExchangeGrant? {
    guard let issuer = issuer, let exchange = exchange else { return nil }
    return ExchangeGrant(issuer: issuer, resource: name, exchange: exchange)
  }

  /// Whether the representations of forwarded requests are passed on as they are: encrypted ones are not.
  var keepsCodings: Bool { payloadEncryption == nil }

  /// Whether a program may ask for content codings: not where an access manager's advice has to be read in bodies.
  package var mayBeCoded: Bool { keepsCodings && advice?.allowsAccessManager != true }

  /// Why no advice is satisfied in fetches from this server, as a clause for people; nil: nothing prevents it.
  package var adviceObstacle: String? {
    guard let advice else { return nil }
    guard advice.allowsAccessManager || advice.allowsAuthorization else {
      return "the advice rules of resource \(name) name no access manager and allow no new login"
    }
    return nil
  }

  /// Whether a response of a status is certainly the last one of its fetch, so that its body may be delivered while it
  /// arrives: not where the response may be a redirect, a rejected token, or a challenge. Those are small; where one
  /// is the last all the same, its body is delivered at its end.
  func streams(consultsDelegate: Bool) -> @Sendable (Int) -> Bool {
    let refreshOn = self.refreshOn
    let advised = advice?.statuses ?? []
    return { status in
      if (300..<400).contains(status) || status == 401 || status == 403 { return false }
      if let refreshOn, refreshOn.contains(status) { return false }
      if advised.contains(status) { return false }
      return !consultsDelegate || (200..<300).contains(status)
    }
  }
}
