import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension PosternURLProtocol {
  /// Returns the error of a `task` that cannot be carried out here, whatever the answer; nil when it can.
  static func unsupported(_ task: URLSessionTask?, _ request: URLRequest) -> URLError? {
    #if canImport(FoundationNetworking)
      // A download task takes the file's location from a property that is Foundation's own: without it a delegate's
      // process crashes (`didFinishDownloadingTo`), that of an awaited download too, and a completion handler gets
      // neither file nor error.
      if let task, !(task is URLSessionDataTask) {
        return URLError(
          .cannotCreateFile,
          detail: "swift-corelibs-foundation takes no file from a URLProtocol: only data and upload tasks go through "
            + "PosternURLProtocol. Use a data task, and write its data to a file")
      }
    #endif
    if task is URLSessionUploadTask, request.httpBody == nil, request.httpBodyStream == nil {
      return URLError(.requestBodyStreamExhausted, detail: "the body of an upload task must be in its request")
    }
    return nil
  }
}
