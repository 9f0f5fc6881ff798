/// `/gzip`: a JSON text with `Content-Encoding: gzip`, also without `Accept-Encoding`.
struct GzipEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    Reply(
      type: "application/json",
      bytes: StoredGzip.encode(Array(#"{"compressed":true,"text":"Grüße"}"#.utf8)),
      headers: [("content-encoding", "gzip"), ("vary", "accept-encoding")]
    )
  }
}
