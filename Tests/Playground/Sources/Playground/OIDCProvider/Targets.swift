/// The audiences that requests ask for: `resource`, absolute URIs without fragment (RFC 8707 section 2), and
/// `audience`, any name.
enum Targets {
  /// All of them, in order.
  static func requested(_ form: FormParameters) throws(OAuthError) -> [String] {
    let resources = form.values(of: "resource")
    for resource in resources {
      let scheme = resource.prefix { $0 != ":" }
      guard scheme.count < resource.count, scheme.first?.isLetter == true, !resource.contains("#") else {
        throw OAuthError(.invalidTarget, "resource must be an absolute URI without fragment")
      }
    }
    return resources + form.values(of: "audience").filter { !resources.contains($0) }
  }

  /// The requested targets out of `granted`, or all of that when none is requested (section 2.2).
  static func narrowed(_ form: FormParameters, within granted: [String]) throws(OAuthError) -> [String] {
    let requested = try requested(form)
    guard requested.allSatisfy(granted.contains) else {
      throw OAuthError(.invalidTarget, "a resource was not part of the grant")
    }
    return requested.isEmpty ? granted : requested
  }
}
