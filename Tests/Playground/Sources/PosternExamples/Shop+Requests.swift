public import PosternKit

extension Shop {
  /// Requests put together in each of the ways, sent without a token.
  public func variations() async throws(ResourceError) -> [ResourceResponse] {
    let upload = ResourceRequestFactory.makeMultipartResourceRequest(
      path: "echo/upload", parameters: ["title": "Receipt"],
      multipartData: [
        MultipartPart(name: "file", fileName: "receipt.pdf", mimeType: "application/pdf", data: [0x25, 0x50])
      ],
      headers: ["X-Flags": "1000010"])

    let chained = ResourceRequestBuilder()
      .setMethod(.post).setPath("echo/users").setParameters(["username": "foo@bar.baz"])
      .setParametersEncoding(.formURL).build()

    var request = MutableResourceRequest(chained)
    request.method = "PUT"
    request.body = Array("raw".utf8)
    request.headers["Content-Type"] = "text/plain"

    var responses = [try await postern.fetch(upload, from: "open"), try await postern.fetch(chained, from: "open")]
    responses.append(try await postern.fetch(request, from: "open"))
    return responses
  }

  /// A large body in pieces, as much of it as `sink` takes.
  public func download(
    _ path: String, to sink: @escaping @Sendable ([UInt8]) async -> Bool
  ) async throws(ResourceError) -> ResourceResponse {
    var options = FetchOptions(timeout: .seconds(600))
    options.deliver = { piece in await sink(piece) }
    return try await postern.fetch(ResourceRequest(path: path), from: "open", options: options)
  }

  /// A large body that is read while it is sent.
  public func upload(
    length: Int64, next: @escaping @Sendable () async -> [UInt8]
  ) async throws(ResourceError) -> ResourceResponse {
    var options = FetchOptions(timeout: .seconds(600))
    options.supply = BodySupply(length: length, next: { .bytes(await next()) })
    return try await postern.fetch(ResourceRequest(path: "echo", method: "PUT"), from: "open", options: options)
  }

  /// A user's resource, with a completion and a task. The client uses the only session of the uid.
  public func profile(then show: @escaping @Sendable (String) -> Void) throws(ResourceError) -> NetworkTask {
    let user = try postern.userClient(for: "orders")
    let task = user.sendAuthenticatedRequest(ResourceRequest(path: "orders")) { result in
      switch result {
      case .success(let response): show("status \(response.status)")
      case .failure(let error) where error.code == .notAuthenticated: show("log in first")
      case .failure(let error): show("\(error)")
      }
    }
    return task
  }

  /// A fetch that another part of the program pauses, continues or ends.
  public func watched(
    _ path: String, by watch: @Sendable (NetworkTask) -> Void
  ) async throws(ResourceError) -> ResourceResponse {
    let request = ResourceRequest(path: path)
    let task = NetworkTask(request: request, clock: SystemClock())
    var options = FetchOptions()
    options.task = task
    watch(task)  // task.suspend(), task.resume(), task.cancel(), task.progress
    return try await postern.fetch(request, from: "open", options: options)
  }

  /// A body that is encrypted on the way there and back, by the resource's `payloadEncryption`.
  public func transfer() async throws -> JSONValue {
    let transfer = ResourceRequest(path: "jose/echo", method: "POST", parameters: ["amount": 10])
    return try await postern.fetch(transfer, from: "payments").json()
  }
}
