extension FetchResource.Params {
  /// The first member that does not go with `continuation`.
  public var excludedByContinuation: String? {
    let members: [(String, Bool)] = [
      ("resource", resource != nil), ("path", path != nil), ("method", method != nil), ("auth", auth != nil),
      ("session", session != nil), ("parameters", parameters != nil),
      ("parametersEncoding", parametersEncoding != nil), ("body", body != nil), ("bodyBase64", bodyBase64 != nil),
      ("multipart", multipart != nil), ("headers", headers != nil), ("followRedirects", followRedirects != nil),
      ("stream", stream != nil), ("streamHead", streamHead != nil), ("bodyFrom", bodyFrom != nil),
      ("contentLength", contentLength != nil), ("bodyAs", bodyAs != nil), ("task", task != nil),
    ]
    return members.first { $0.1 }?.0
  }
}
