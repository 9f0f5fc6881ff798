public import AuthEngine
import HTTPMessages
public import PosternJSON

extension ResourceAccess {
  /// A resource of the application's own; nil when the answer is not what was expected.
  public func orders() async -> JSONValue? {
    let request = ResourceRequestFactory.makeResourceRequest(path: "orders", parameters: ["limit": 10])
    do throws(ResourceError) {
      let response = try await device.sendAuthenticatedRequest(request)
      return response.status < 400 ? try? JSONParser().parse(response.body) : nil
    } catch {
      switch error.code {
      case .deviceNotAuthenticated: print("check client id, secret and scope: \(error.detail)")
      case .requestCancelled: break
      default: print("\(error), what may have happened: \(error.outcome.rawValue)")
      }
      return nil
    }
  }

  /// Requests put together in the other ways, sent without a token.
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

    var builder = ResourceRequestBuilder(chained)
    builder.method = "PUT"
    builder.body = Array("raw".utf8)
    builder.headers["Content-Type"] = "text/plain"
    let raw = builder.build()

    var responses: [ResourceResponse] = []
    for request in [upload, chained, raw] {
      responses.append(try await device.sendUnauthenticatedRequest(request))
    }
    return responses
  }

  /// A user's resource, with a completion.
  public func profile(then show: @escaping @Sendable (String) -> Void) -> NetworkTask {
    let request = ResourceRequestFactory.makeResourceRequest(path: "echo/profile")
    let task = user.sendAuthenticatedRequest(request) { result in
      switch result {
      case .success(let response): show("status \(response.status)")
      case .failure(let error) where error.code == .notAuthenticated: show("log in first")
      case .failure(let error): show("\(error)")
      }
    }
    return task
  }

  /// A large body in pieces, as much of it as `sink` takes.
  public func download(
    _ path: String, to sink: @escaping @Sendable ([UInt8]) async -> Bool
  ) async throws(ResourceError) -> ResourceResponse {
    var options = FetchOptions(timeout: .seconds(600))
    options.deliver = { piece in await sink(piece) }
    return try await device.sendAuthenticatedRequest(ResourceRequest(path: path), options: options)
  }
}
