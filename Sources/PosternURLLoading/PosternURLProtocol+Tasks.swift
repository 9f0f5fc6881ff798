import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension PosternURLProtocol {
  /// Why `task` cannot be carried out here, whatever the server would answer; nil: it can.
  static func refusal(of task: URLSessionTask?, _ request: URLRequest) -> URLError? {
    #if canImport(FoundationNetworking)
      // A download task takes the file's place from a property that is Foundation's own: without it a delegate's
      // process ends (`didFinishDownloadingTo`), an awaited download's too, and a completion handler gets neither file
      // nor error.
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
