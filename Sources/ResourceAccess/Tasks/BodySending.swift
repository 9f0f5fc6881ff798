import HTTPMessages

/// Sends a request whose body is read meanwhile.
struct BodySending {
  let supply: BodySupply
  let control: TransferControl

  /// The response, and why the body could not be read; nil: it was, or the response came first.
  func send(
    _ send: () async -> Result<HTTPResponse, TransportError>
  ) async -> (result: Result<HTTPResponse, TransportError>, failure: String?) {
    control.beginUpload()
    return await withTaskGroup(of: String?.self) { group in
      group.addTask { await pump() }
      let result = await send()
      // What is not sent by now is not needed any more.
      control.finishUpload()
      group.cancelAll()
      return (result, await group.next() ?? nil)
    }
  }

  /// Reads the body to its end, or as long as the request needs it.
  private func pump() async -> String? {
    while true {
      switch await supply.next() {
      case .bytes(let bytes):
        guard !bytes.isEmpty else {
          control.endUpload(.complete)
          return nil
        }
        guard await control.upload(bytes) else { return nil }
      case .failed(let reason):
        guard !Task.isCancelled else { return nil }
        control.endUpload(.failed)
        return reason
      }
    }
  }
}
