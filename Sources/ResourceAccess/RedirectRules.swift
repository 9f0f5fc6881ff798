import HTTPMessages
import PosternSupport

/// Whether and how a redirect is followed (RFC 9110 section 15.4). A pure function of request, response and resource
/// server.
enum RedirectRules {
  /// More than this many in one fetch are a protocol error.
  static let limit = 10

  /// The next request.
  struct Step {
    let request: HTTPRequest
    let crossesOrigins: Bool
  }

  /// Whether a response of `status` leads to another URL, where it has one.
  static func isRedirect(_ status: Int) -> Bool {
    switch status {
    case 301, 302, 303, 307, 308: true
    default: false
    }
  }

  /// The request that a response of `status` redirects `request` to, with the values of `Location` in `locations`; nil
  /// when it is no redirect or its target is not acceptable: then it is the result.
  static func next(
    after request: HTTPRequest, _ status: Int, to locations: [String], within server: ResourceServer
  ) -> Step? {
    guard isRedirect(status) else { return nil }
    guard locations.count == 1, let location = try? request.url.resolving(reference: locations[0]) else { return nil }
    // A server may copy the query that it got, and a credential in it must not go where it leads.
    let target = server.credential?.removed(from: location) ?? location
    guard server.covers(target) else { return nil }
    // Plain http may be allowed on loopback, but nothing that began in secret goes on in the open.
    guard request.url.origin.scheme == "http" || target.origin.scheme == "https" else { return nil }
    var next = request
    next.url = target
    if becomesGET(request.method, status) {
      next.method = "GET"
      next.body = nil
      next.streamedBody = nil
      next.fields.removeAll { $0.startsWithBytes(of: "content-") }
    }
    let crosses = target.origin != request.url.origin
    // Nor does it under another name, or in the path.
    guard !crosses || server.credential?.occurs(in: target) != true else { return nil }
    if crosses { next.fields.removeAll { !HTTPFieldRules.crossesOrigins($0) } }
    // What its fields name in relation to the URL would be something else there.
    guard (try? SecondURLs(server).reading(next.fields, of: target)) != nil else { return nil }
    return Step(request: next, crossesOrigins: crosses)
  }

  /// 303 makes it a GET; 301 and 302 make a POST one, as every browser does; 307 and 308 change nothing.
  private static func becomesGET(_ method: String, _ status: Int) -> Bool {
    switch status {
    case 303: method != "GET" && method != "HEAD"
    case 301, 302: method == "POST"
    default: false
    }
  }
}
