import sys
import postern_auth

client = postern_auth.Client()


def confirm(request):  # called while the fetch waits; a real one has a dialog with the user
    print("the gateway wants", request.advices[0].type)
    step = client.authenticate_with_advice(
        continuation=request.continuation,
        answers={"PasswordCallback": "alice-password", "ConfirmationCallback": "Yes"},
    )
    return step.state == "completed"


client.register_delegate(on_policy_advice_received=confirm)
paid = client.fetch_resource(
    "bank", "transaction/pay", method="POST", body="10 coins", session=sys.argv[1]
)
print(paid.status, "paid:", paid.json()["body"])
